"""The names that `lightrag_dagster` itself has, which is all that users import."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import lightrag_dagster
from lightrag_dagster import KnowledgeBase, KnowledgeBaseResource


def test_type_checkers_see_the_names_that_are_there() -> None:
    tree = ast.parse(Path(lightrag_dagster.__file__).read_text())
    (only_for_types,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or "": getattr(import_module(node.module), alias.name)
        for node in only_for_types.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    listed = {name for name in dir(lightrag_dagster) if name not in vars(lightrag_dagster)}
    assert listed <= seen.keys()
    assert {name: getattr(lightrag_dagster, name) for name in seen} == seen


@pytest.mark.parametrize("public", [KnowledgeBase, KnowledgeBaseResource])
def test_public_methods_take_and_return_what_is_public(public: type) -> None:
    types = set[str]()
    for name, method in inspect.getmembers(public, callable):
        if not name.startswith("_") and "lightrag_dagster" in (getattr(method, "__module__", None) or ""):
            signature = inspect.signature(method)
            annotations = [*(one.annotation for one in signature.parameters.values()), signature.return_annotation]
            types.update(re.findall(r"lightrag_dagster\.[\w.]*?(\w+)(?![\w.])", " ".join(map(str, annotations))))
    assert len(types) > 2
    assert types <= set(dir(lightrag_dagster))
