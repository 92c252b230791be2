"""A merge after an edit takes the rows that did not change from the last one, and only while nothing else differs."""

from functools import partial
from pathlib import Path

import pytest

from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.stages.merging import changes, parts
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation, newest_generation
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.support import FLOOD, OFFICE, write_source

MARK = "marked by hand"


@pytest.fixture(autouse=True)
def _no_merge_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_SMALL_ROWS", -1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings of a home whose two sources are merged; the row of *Bergen* in it is marked."""
    made = load_settings(home=tmp_path / "home", sources=tmp_path / "sources", llm={"provider": "offline"})
    write_source(made, "notes", {"flood.txt": FLOOD})
    write_source(made, "office", {"office.txt": OFFICE})
    path = merge(made).path("entities.parquet")
    rows = atomic.read_parquet(path)
    marked = [row | {"description": MARK} if row["name"] == "Bergen" else row for row in rows.to_pylist()]
    atomic.write_parquet(path, rows.from_pylist(marked, rows.schema))
    return made


def merge(settings: Settings) -> Generation:
    """Ingest what changed, and merge."""
    recipes = Recipes.of(settings)
    for source in find_sources(settings).values():
        assert ingest(source, SourceTables(Home.of(settings)), recipes).accepted
    report = merge_sources(recipes, partial(open_chat_model, settings.llm, Home.of(settings), "summarise"))
    assert report.merged
    return report.generation


def descriptions(generation: Generation) -> dict[str, str]:
    """Return the descriptions of the entities by name."""
    rows = generation.read_table("entities", ["name", "description"]).to_pylist()
    return {row["name"]: row["description"] for row in rows}


def test_a_row_whose_evidence_stays_is_that_of_the_last_merge(settings: Settings) -> None:
    write_source(settings, "notes", {"flood.txt": FLOOD, "more.txt": "Jonas Feld met Ulla Berg."})
    found = descriptions(merge(settings))
    assert found.pop("Bergen") == MARK
    assert "Ulla Berg" in found
    assert MARK not in found.values()


def test_other_rules_make_every_row_again(settings: Settings) -> None:
    other = settings.changed(merging=settings.merging.model_copy(update={"max_chunks": 7}))
    assert MARK not in descriptions(merge(other)).values()


def test_a_decision_makes_every_row_again(settings: Settings) -> None:
    take(settings, [Decision(action="merge", names=("Priya Nair", "Jonas Feld"))])
    assert MARK not in descriptions(merge(settings)).values()


def test_without_a_file_of_the_last_merge_every_row_is_made_again(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (before,) = newest_generation(Home.of(settings)).table_files("chunks")[:1]
    write_source(settings, "notes", {"flood.txt": FLOOD, "more.txt": "Jonas Feld met Ulla Berg."})
    before.unlink()
    with caplog.at_level("INFO"):
        found = descriptions(merge(settings))
    assert "Ulla Berg" in found
    assert MARK not in found.values()
    assert "all rows are merged again" in caplog.text


def test_more_than_a_part_holds_is_merged_whole(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ROWS_PER_PART", 1)
    write_source(settings, "notes", {"flood.txt": FLOOD, "more.txt": "Jonas Feld met Ulla Berg."})
    found = descriptions(merge(settings))
    assert "Ulla Berg" in found
    assert MARK not in found.values()
