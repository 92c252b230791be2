"""What is pending: the same answer for every caller, from records alone."""

import shutil
from pathlib import Path

import pytest

from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.pending import accept_pending, pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import DocumentSettings, Settings, SourceSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.pipeline.test_ingest import ingest_all
from tests.support import FLOOD, RIVER, write_source


@pytest.fixture
def ingested(settings: Settings) -> Settings:
    """Settings of a home with one ingested source."""
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    assert ingest_all(settings, "notes").accepted
    return settings


def state(settings: Settings, source: str = "notes") -> str:
    return str(pending(Situation.looking(settings)).sources[source])


def test_a_source_from_new_to_merged(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    assert state(settings) == "pending: raw_documents, never made"
    assert pending(Situation.looking(settings)).publish is None
    ingest_all(settings, "notes")
    states = pending(Situation.looking(settings))
    assert str(states.sources["notes"]) == "pending: merge"
    assert states.publish is not None
    assert list(states.publish.sources) == ["notes"]
    assert (states.manifest, states.rejected) == (None, {})
    # It is accepted already, so nothing is to be done for it alone.
    assert states.sources["notes"].accept is False
    assert states.sources["notes"].busy is False


def test_a_changed_file_is_pending(ingested: Settings) -> None:
    assert state(ingested) == "pending: merge"
    write_source(ingested, "notes", {"river.md": RIVER, "flood.md": f"{FLOOD} It rained."})
    assert state(ingested) == "pending: raw_documents, input changed"


@pytest.mark.parametrize("table", ["raw_documents", "chunks", "extractions", "relation_mentions", "parsed"])
def test_a_file_that_is_gone_is_made_again(ingested: Settings, table: str) -> None:
    tables = SourceTables(Home(ingested.home))
    tables.paths(table, "notes", tables.require(table, "notes").version)[0].unlink()
    assert state(ingested) == f"pending: {table}, a file of it is missing"
    ingest_all(ingested, "notes")
    assert state(ingested) == "pending: merge"


def test_settings_that_cost_nothing_are_followed_at_once(ingested: Settings) -> None:
    smaller = ingested.model_copy(update={"documents": DocumentSettings(max_bytes=1000)})
    assert state(smaller) == "pending: raw_documents, code or settings changed"


def test_no_table_is_read(ingested: Settings) -> None:
    write_source(ingested, "bad", {"river.md": RIVER, "broken.txt": b"\xc3\x28"})
    ingest_all(ingested, "bad")
    german = ingested.changed(language="German")
    before = pending(Situation.looking(german))
    for file in (ingested.home / "tables").rglob("*.parquet"):
        file.write_bytes(b"no table")
    assert pending(Situation.looking(german)) == before
    assert dict(before.sources["notes"].outdated) == {"extractions": 2}
    assert dict(before.sources["bad"].documents) == {"failed": 1, "processed": 1}


def test_a_source_that_cannot_be_listed_says_so(ingested: Settings, tmp_path: Path) -> None:
    named = {"absent": SourceSettings(uri=str(tmp_path / "absent"))}
    missing = ingested.model_copy(update={"named_sources": named})
    assert state(missing, "absent").startswith("cannot be ingested: source 'absent': ")
    assert state(missing) == "pending: merge"


def test_a_bound_counts_at_once(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28"})
    ingest_all(settings, "notes")
    states = pending(Situation.looking(settings))
    assert list(states.rejected) == ["notes"]
    assert state(settings).startswith("not accepted: 1 of 2 documents of source 'notes' failed (50.0%)")
    assert states.sources["notes"].busy is False

    more = settings.model_copy(update={"documents": DocumentSettings(max_failed_share=0.5)})
    assert pending(Situation.looking(more)).sources["notes"].accept
    accept_pending(settings)
    assert accepted(Home(settings.home), "notes") is None
    accept_pending(more)
    assert accepted(Home(settings.home), "notes") is not None
    # What was accepted stays so when the bound is lowered again.
    assert pending(Situation.looking(settings)).rejected == {}


def test_a_source_that_is_gone_before_its_first_publication_is_withheld(ingested: Settings) -> None:
    before = next_publication(Situation.looking(ingested))
    assert before is not None
    shutil.rmtree(ingested.sources / "notes")
    assert next_publication(Situation.looking(ingested)) == before
    assert list(pending(Situation.looking(ingested)).rejected) == ["notes"]
    assert next_publication(Situation.looking(ingested.changed(documents={"accept_deletes": True}))) is None
