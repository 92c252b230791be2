"""The recipes of docs/serving.md, run; where a library is not installed, against its few names that they use."""

import asyncio
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from lightrag_dagster import KnowledgeBase

PAGE = (Path(__file__).parents[2] / "docs/serving.md").read_text()
QUESTION = "Who repaired the sensor at Station 14?"


class Plain:
    """A class of a library: it keeps what it is given."""

    def __init__(self, *given: object, **named: object) -> None:
        vars(self).update(named, given=given)

    def get(self, path: str) -> Any:
        return lambda function: function


class Retriever(BaseModel):
    """LangChain's base of retrievers, as far as a recipe uses it."""


STANDINS: dict[str, dict[str, Any]] = {
    "langchain_core.documents": {"Document": Plain},
    "langchain_core.retrievers": {"BaseRetriever": Retriever},
    "llama_index.core.retrievers": {"BaseRetriever": Plain},
    "llama_index.core.schema": {"NodeWithScore": Plain, "TextNode": Plain},
    "fastapi": {"FastAPI": Plain},
}
INSTALLED = {name: find_spec(name.partition(".")[0]) is not None for name in STANDINS}


def recipe(library: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the recipe for a library and return its names."""
    for name, members in STANDINS.items():
        if not INSTALLED[name]:
            module = ModuleType(name)
            vars(module).update(members)
            monkeypatch.setitem(sys.modules, name, module)
    found = re.search(rf"^{library}:\n\n```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(found[1].replace('"demo"', repr(str(home))), names)
    return names


@pytest.mark.long
def test_a_retriever_for_langchain(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        passages = recipe("LangChain", published_home, monkeypatch)["Passages"](knowledge=knowledge)
        first = passages._get_relevant_documents(QUESTION, run_manager=None)[0]
    assert first.metadata == {"source": "archive/shared.md"}


def test_a_retriever_for_llamaindex(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        passages = recipe("LlamaIndex", published_home, monkeypatch)["Passages"](knowledge)
        first = passages._retrieve(SimpleNamespace(query_str=QUESTION))[0]
    assert first.node.text == "Priya Nair repaired the sensor at Station 14."


def test_fastapi_follows_what_is_published(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = recipe("FastAPI", published_home, monkeypatch)
    with names["knowledge"]:
        assert "Priya Nair" in asyncio.run(names["ask"](QUESTION))
