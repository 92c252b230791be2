import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from tests.cli.test_cli import command
from tests.loopback import Loopback

STATION = "Who closed Station 14 in the flood?"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def query(published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    return lambda *arguments: command(capfd, monkeypatch, "query", STATION, *arguments)


def test_the_same_as_from_python(query: Run, published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        answer = knowledge.query(STATION)
        assert query()[1].strip() == answer.text
        shown = json.loads(query("--json")[1])
        assert shown.pop("version") == version("lightrag-dagster")
        expected = json.loads(json.dumps(answer.to_dict()))
        for each in (shown, expected):
            del each["retrieval"]["steps"]
        assert shown == expected
        assert query("--stream")[1].strip() == answer.text
        assert query("--only-context", "--mode", "local")[1].strip() == knowledge.context(STATION, mode="local")
        assert query("--only-prompt")[1].strip() == knowledge.prompt(STATION)


@pytest.mark.parametrize(
    ("filters", "seen"),
    [
        (["--source", "office"], "office/bergen/notes.txt"),
        (["--path", "*.txt"], "office/bergen/notes.txt"),
        (["--media-type", "text/plain"], "office/bergen/notes.txt"),
    ],
)
def test_filters(query: Run, monkeypatch: pytest.MonkeyPatch, filters: list[str], seen: str) -> None:
    monkeypatch.setenv("LIGHTRAG_QUERY__COSINE_THRESHOLD", "-1")
    _, output, _ = query("--only-context", "--mode", "naive", *filters)
    assert seen in output
    assert "archive/" not in output


def test_keywords_of_the_caller(query: Run) -> None:
    given = ("--low-level", "Bergen", "--low-level", "office", "--high-level", "flood")
    shown = json.loads(query("--json", "--mode", "mix", *given)[1])
    assert shown["retrieval"]["keywords"] == {"high_level": ["flood"], "low_level": ["Bergen", "office"]}


def test_nothing_passes(query: Run) -> None:
    assert "[no-context]" in query("--modified-since", "2999-01-01")[1]


@pytest.mark.parametrize("output", [[], ["--only-context"]])
def test_explain(query: Run, output: list[str]) -> None:
    _, shown, _ = query("--explain", "--mode", "local", *output)
    for step in ("keywords", "find", "entities", "related chunks", "chunks"):
        assert f"\n{step:<15}" in shown
    assert "kept: " in shown
    assert "\n  + 0." in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--source", "nowhere"], "no source 'nowhere'"), (["--modified-since", "soon"], "a time")],
)
def test_what_cannot_be_asked(query: Run, arguments: list[str], says: str) -> None:
    code, _, errors = query(*arguments)
    assert code == 2
    assert says in errors
    assert len(errors.strip().splitlines()) == 1


def test_what_carried_an_answer_is_shown(query: Run) -> None:
    code, shown, _ = query("--explain", "--mode", "fusion")
    assert code == 0
    assert "\n           by Station 14" in shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("It was closed [1].", "It was closed [1].\n\nReferences:\n[1] archive/flood.md"),
        ("It was closed.", "It was closed."),
        ("### References\n- [1]", "### References\n- [1]"),
    ],
)
def test_documents_that_an_answer_cites_are_listed_once(
    query: Run,
    published_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    loopback: Loopback,
    said: str,
    shown: str,
) -> None:
    loopback.chat = lambda _: said
    home = shutil.copytree(published_home, tmp_path / "home")  # which stores the answer
    for name, value in (("HOME", str(home)), ("LLM__PROVIDER", "openai"), ("LLM__MODEL", "gpt-6-luna")):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    assert query("--mode", "bm25")[1].strip() == shown
