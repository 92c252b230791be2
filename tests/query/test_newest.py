"""Chunks by the dates of their documents, from files to the context."""

import json
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.settings import Settings
from tests.cli.test_cli import command
from tests.support import first_build, write_source

CLAUSE = "The fee of the Halden contract is {} euros a month, payable in advance."


@pytest.fixture
def contracts(settings: Settings) -> Settings:
    """Return the settings of a home with three versions of one clause, one of them without a date."""
    files = {
        f"{name}.md": f"---\n{f'date: {date}' if date else 'tags: [draft]'}\n---\n{CLAUSE.format(fee)}\n"
        for name, date, fee in (("first", "2021-05-01", 10), ("amended", "2024-03-01", 30), ("draft", None, 20))
    }
    write_source(settings, "contracts", files)
    first_build(settings)
    return settings


def test_the_newest_come_first_and_say_their_date(contracts: Settings) -> None:
    asked = "What is the fee of the Halden contract?"
    with KnowledgeBase.open(settings=contracts) as knowledge:
        found = knowledge.retrieve(asked, mode="fusion", prefer="newest", explain=True)
        assert [(chunk.path, chunk.date) for chunk in found.chunks] == [
            ("amended.md", "2024-03-01"),
            ("first.md", "2021-05-01"),
            ("draft.md", None),
        ]
        (step,) = [one for one in found.steps if one.name == "chunks"]
        assert [item["name"].split("[")[0] for item in step.notes["items"]] == [
            "contracts/amended.md",
            "contracts/first.md",
            "contracts/draft.md",
        ]
        best = knowledge.retrieve(asked, mode="fusion")
        assert {chunk.path for chunk in best.chunks} == {chunk.path for chunk in found.chunks}
        assert '"date": "2024-03-01"' in knowledge.context(asked, mode="bm25")
        one = knowledge.retrieve(asked, mode="bm25", prefer="newest", chunk_top_k=1)
        assert [chunk.path for chunk in one.chunks] == [knowledge.retrieve(asked, mode="bm25").chunks[0].path]


def test_a_clause_that_a_newer_document_has_as_well_is_as_new(settings: Settings) -> None:
    files = {
        f"{name}-{year}-01-01.md": f"{CLAUSE.format(fee)}\n"
        for name, year, fee in (("a", 2019, 9), ("b", 2022, 7), ("z", 2024, 9))
    }
    write_source(settings, "contracts", files)
    first_build(settings)
    asked = "What is the fee of the Halden contract?"
    with KnowledgeBase.open(settings=settings) as knowledge:
        found = knowledge.retrieve(asked, mode="bm25", prefer="newest")
        assert [(chunk.path, chunk.date) for chunk in found.chunks] == [
            ("a-2019-01-01.md", "2024-01-01"),
            ("b-2022-01-01.md", "2022-01-01"),
        ]
        assert '"date": "2024-01-01"' in knowledge.context(asked, mode="bm25")


def test_a_setting_prefers_the_newest(contracts: Settings, tmp_path: Path) -> None:
    newest = contracts.changed(query={"prefer": "newest"})
    with KnowledgeBase.open(settings=newest) as knowledge:
        found = knowledge.retrieve("What is the fee of the Halden contract?", mode="naive", cosine_threshold=-1)
    assert [chunk.path for chunk in found.chunks] == ["amended.md", "first.md", "draft.md"]


def test_an_option_of_the_command_prefers_the_newest(
    contracts: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(contracts.home))
    asked = ("query", "What is the fee of the Halden contract?", "--mode", "bm25", "--json", "--prefer")
    _, shown, _ = command(capfd, monkeypatch, *asked, "newest")
    paths = [chunk["path"] for chunk in json.loads(shown)["retrieval"]["chunks"]]
    assert paths == ["amended.md", "first.md", "draft.md"]
    code, _, errors = command(capfd, monkeypatch, *asked, "oldest")
    assert (code, "'oldest' is not one of 'best'" in errors) == (2, True)
