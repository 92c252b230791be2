"""What a source may lose of its documents from one accepted version to the next."""

from pathlib import Path

import duckdb
import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest
from tests.support import write_source

TEN = {f"{number}.md": f"Report {number} names the gauge at Station {number}." for number in range(10)}


def read(settings: Settings, *, accept: bool = False) -> dict[str, int]:
    """Read the source alone, and return its documents by status."""
    wanted = settings.changed(documents={"accept_deletes": accept})
    tables = SourceTables(Home(settings.home))
    return read_source(find_source(wanted, "notes"), tables, Recipes.of(wanted)).version.counts["status"]


def accept(settings: Settings) -> None:
    """Ingest the source as a run does."""
    assert ingest(find_source(settings, "notes"), SourceTables(Home(settings.home)), Recipes.of(settings)).accepted


def merged(settings: Settings) -> str:
    """Return the version of the documents that the merge reads."""
    record = accepted(Home(settings.home), "notes")
    assert record is not None
    return record.tables["raw_documents"]


def without_text(count: int) -> dict[str, str]:
    """Return the files, the first ones with 0 bytes."""
    return TEN | dict.fromkeys(list(TEN)[:count], "")


def test_files_that_lost_their_bytes_are_refused_night_after_night(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    write_source(settings, "notes", without_text(10))
    for _ in range(2):
        with pytest.raises(SourceError, match=r"source 'notes' lost 10 of 10 documents at once \(10 emptied\)"):
            read(settings)
    assert read(settings, accept=True) == {"empty": 10}


def test_a_refusal_is_said_until_other_files_are_read(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    write_source(settings, "notes", without_text(10))
    with pytest.raises(SourceError) as refused:
        read(settings)
    assert pending(Situation.looking(settings)).rejected == {"notes": str(refused.value)}
    assert make_plan(settings).sources[0].problem == str(refused.value)
    write_source(settings, "notes", without_text(9))
    assert pending(Situation.looking(settings)).rejected == {}
    with pytest.raises(SourceError, match="9 of 10"):
        read(settings)
    assert list(pending(Situation.looking(settings)).rejected) == ["notes"]
    read(settings, accept=True)
    assert pending(Situation.looking(settings)).rejected == {}


def test_losses_do_not_add_up_over_versions_that_were_never_accepted(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    before = merged(settings)
    write_source(settings, "notes", without_text(2))
    assert read(settings) == {"empty": 2, "processed": 8}  # and then the run was killed
    write_source(settings, "notes", without_text(4))
    with pytest.raises(SourceError, match="lost 4 of 10 documents"):
        read(settings)
    assert merged(settings) == before


def test_files_that_fail_one_night_may_not_be_empty_the_next(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    write_source(settings, "notes", dict.fromkeys(TEN, b"\xc3\x28"))
    assert read(settings) == {"failed": 10}  # which is not accepted, as too many failed
    write_source(settings, "notes", without_text(10))
    with pytest.raises(SourceError, match="10 emptied"):
        read(settings)


@pytest.mark.long
def test_losses_that_a_person_accepted_stay_accepted_until_they_are_merged(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    write_source(settings, "notes", without_text(5))
    read(settings, accept=True)  # and then the answers are waited for
    write_source(settings, "notes", without_text(5) | {"new.md": "Another report."})
    assert read(settings) == {"empty": 5, "processed": 6}
    write_source(settings, "notes", without_text(8))
    with pytest.raises(SourceError, match=r"lost 4 of 6 documents at once \(1 deleted, 3 emptied\)"):
        read(settings)
    write_source(settings, "notes", without_text(5))
    accept(settings)
    write_source(settings, "notes", without_text(7))
    with pytest.raises(SourceError, match=r"lost 2 of 5 documents at once"):
        read(settings)


def test_before_anything_was_accepted_the_last_reading_counts(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    read(settings)
    write_source(settings, "notes", without_text(3))
    with pytest.raises(SourceError, match="lost 3 of 10"):
        read(settings)


def test_rows_whose_column_became_null_are_refused(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "pages.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE pages AS SELECT range AS id, 'Gauge ' || range AS body FROM range(10)")
    rows = {"text": "body", "title": "id", "query": "SELECT * FROM pages"}
    named = {"notes": SourceSettings.model_validate({"uri": str(file), "rows": rows})}
    settings = settings.model_copy(update={"named_sources": named})
    assert read(settings) == {"processed": 10}
    with duckdb.connect(str(file)) as connection:
        connection.execute("UPDATE pages SET body = NULL")
    with pytest.raises(SourceError, match=r"lost 10 of 10 documents at once \(10 emptied\)"):
        read(settings)


def test_a_table_with_a_repeated_id_is_withheld_until_it_is_corrected(settings: Settings, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    settings = settings.changed(named_sources={"notes": SourceSettings(uri=str(table), rows=RowsSettings())})
    table.write_text("id,text\n1,a\n1,b\n")
    with pytest.raises(SourceError, match="have the id '1'") as refused:
        read(settings)
    assert pending(Situation.looking(settings)).rejected == {"notes": str(refused.value)}
    table.write_text("id,text\n1,a\n2,b\n")
    assert read(settings) == {"processed": 2}
    assert pending(Situation.looking(settings)).rejected == {}


def test_the_chunks_of_what_was_refused_stay(settings: Settings) -> None:
    write_source(settings, "notes", TEN)
    accept(settings)
    write_source(settings, "notes", without_text(10))
    with pytest.raises(SourceError):
        read(settings)
    report = chunk_source("notes", SourceTables(Home(settings.home)), Recipes.of(settings))
    assert (report.version.rows, report.kept) == (10, 10)
