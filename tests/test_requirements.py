"""The libraries that are asked for: each that is imported, and the versions that are tested among them."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lightrag_dagster.readers.formats import LIBRARIES
from tests.syntax import nodes_of
from tests.test_floors import product

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ASKED = [Requirement(one) for one in chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())]

SHAPE_NO_TEXT = {"babel", "fasttext-predict", "numpy", "pillow", "pydantic", "pyyaml"}
"""Libraries of the readers of which another version reads the same text."""

BROUGHT = {
    "aiohttp",  # by those who read archives on the web, zip::https://
    "cv2",  # rapidocr, of which it draws
    "mcp_types",  # mcp, in the same version
    "pydantic_core",  # pydantic, in the same version
    "transformers",  # sentence-transformers
}
"""Modules of libraries that another one brings, which is asked for."""


def imported(room: str = "") -> set[str]:
    """Return the first names of all modules that the product imports, or a part of it."""
    texts = [text for module, text in product().items() if module.startswith(f"lightrag_dagster.{room}")]
    nodes = [node for text in texts for node in nodes_of(text)[1]]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"lightrag_dagster"}


def libraries_of(modules: set[str]) -> set[str]:
    """Return the distributions of modules; a module that is not installed goes by its own name."""
    known = packages_distributions()
    return {canonicalize_name(known.get(name, [name])[0]) for name in modules - BROUGHT}


def test_every_library_that_is_imported_is_asked_for() -> None:
    assert libraries_of(imported()) - {canonicalize_name(one.name) for one in ASKED} == set()


def test_the_recipe_of_documents_names_every_library_that_reads_them() -> None:
    extras = {"docling", "docling-core", "rapidocr"}
    assert libraries_of(imported("readers")) - SHAPE_NO_TEXT - extras - {*LIBRARIES} == set()


def test_what_is_asked_for_admits_the_versions_that_are_tested() -> None:
    pinned = re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    tested = {canonicalize_name(name): version for name, version in pinned}
    found = {str(one): tested.get(canonicalize_name(one.name)) for one in ASKED}
    assert [one for one in ASKED if (version := found[str(one)]) and not one.specifier.contains(version)] == []
