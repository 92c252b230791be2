from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage import gc
from lightrag_dagster.storage.acceptance import accept, accepted, failed_share
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables
from tests.storage.corpus import OFFICE, RIVER, home_of, write_source


def test_five_tables_of_one_lineage_are_accepted_together(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    assert accepted(home, "river") is None
    assert accept(home, "river", 0.0).accepted
    record = accepted(home, "river")
    assert record is not None
    tables = SourceTables(home)
    assert record.tables == {table: tables.current(table, "river").version for table in SOURCE_TABLES}  # type: ignore[union-attr]


def test_accepting_again_writes_nothing(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", 0.0)
    before = home.accepted("river").stat()
    accept(home, "river", 0.0)
    assert home.accepted("river").stat() == before


@pytest.mark.parametrize(
    ("failed_documents", "failed_chunks", "limit", "reason"),
    [
        (0, 0, 0.0, None),
        (1, 0, 0.34, None),
        (1, 0, 0.33, "1 of 3 documents of source 'river' failed (33.3%), more than the 33.0%"),
        (0, 1, 0.25, None),
        (0, 1, 0.2, "1 of 4 chunks of source 'river' failed (25.0%), more than the 20.0%"),
        (2, 3, 0.5, None),
    ],
)
def test_the_failed_share_decides(
    tmp_path: Path, failed_documents: int, failed_chunks: int, limit: float, reason: str | None
) -> None:
    home = Home(tmp_path)
    write_source(home, "river", RIVER, failed_documents=failed_documents, failed_chunks=failed_chunks)
    outcome = accept(home, "river", limit)
    assert outcome.accepted == (reason is None)
    assert (outcome.reason or "").startswith(reason or "")
    assert outcome.failed_documents == failed_documents / (2 + failed_documents)
    assert outcome.failed_chunks == failed_chunks / (3 + failed_chunks)


def test_a_bad_version_leaves_the_last_accepted_one(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", 0.2)
    good = accepted(home, "river")
    write_source(home, "river", OFFICE, failed_documents=1)
    assert not accept(home, "river", 0.2).accepted
    assert accepted(home, "river") == good
    write_source(home, "river", OFFICE)
    assert accept(home, "river", 0.2).accepted
    assert accepted(home, "river") != good


def test_a_source_without_documents_is_accepted(tmp_path: Path) -> None:
    home = home_of(tmp_path, empty={})
    assert accept(home, "empty", 0.0).accepted


@pytest.mark.parametrize(
    ("stale", "made_from"),
    [
        ("chunks", "raw_documents"),
        ("extractions", "chunks"),
        ("entity_mentions", "extractions"),
        ("relation_mentions", "extractions"),
    ],
)
def test_a_broken_lineage_is_not_accepted(tmp_path: Path, stale: str, made_from: str) -> None:
    home = home_of(tmp_path, river=RIVER)
    tables = SourceTables(home)
    tables.write(stale, "river", tables.read(stale, "river"), inputs={made_from: "older"}, fingerprint="code")
    outcome = accept(home, "river", 1.0)
    assert not outcome.accepted
    assert outcome.reason == (
        f"{stale} of source 'river' was not made from its current {made_from}; materialise {stale} for it"
    )
    assert accepted(home, "river") is None


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    (home.source_table("extractions", "river") / "current.json").unlink()
    assert accept(home, "river", 1.0).reason == (
        "source 'river' has no extractions yet; materialise extractions for it"
    )


def test_a_bound_that_was_raised_counts_without_reading_a_table(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_source(home, "river", RIVER, failed_documents=1)
    assert not accept(home, "river", 0.2).accepted
    for file in home.root.rglob("*.parquet"):
        file.unlink()
    assert accept(home, "river", 0.4).accepted
    assert accepted(home, "river") is not None


def test_skipped_documents_do_not_count(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    tables = SourceTables(home)
    documents = tables.read("raw_documents", "river")
    other = documents.slice(0, 1).to_pylist()[0] | {"doc_id": "doc-x", "path": "x.bin", "status": "skipped"}
    rows = pa.concat_tables([documents, pa.Table.from_pylist([other] * 9, schema=documents.schema)])
    version = tables.write("raw_documents", "river", rows, inputs={}, fingerprint="code")
    assert (version.rows, version.count("status", "skipped"), failed_share(version)) == (11, 9, 0.0)


def test_a_candidate_replaces_the_accepted_tables_when_it_is_whole(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", 0.2)
    before, other = accepted(home, "river"), Home(tmp_path / "other")
    write_source(other, "river", OFFICE)
    tables, candidate, made = SourceTables(home), SourceTables(home, candidate=True), SourceTables(other)

    for table in SOURCE_TABLES:
        current = tables.require(table, "river")
        assert not accept(home, "river", 0.2, candidate=True).accepted or table == "raw_documents"
        version = made.require(table, "river")
        rows = made.read(table, "river")
        candidate.write(table, "river", rows, inputs=version.inputs, fingerprint="code")
        assert tables.require(table, "river") == current
        assert accepted(home, "river") == before
        assert candidate.require(table, "river").version == version.version != current.version

    assert tables.has_candidate("river")
    assert accept(home, "river", 0.2, candidate=True).accepted
    assert not tables.has_candidate("river")
    record = accepted(home, "river")
    assert record is not None
    assert record.tables == {table: made.require(table, "river").version for table in SOURCE_TABLES}
    assert record.tables == {table: tables.require(table, "river").version for table in SOURCE_TABLES}


def test_garbage_collection_keeps_a_candidate(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    candidate = SourceTables(home, candidate=True)
    rows = candidate.read("chunks", "river").slice(1)
    unused = SourceTables(home).write("chunks", "river", rows.slice(1), inputs={}, fingerprint="")
    SourceTables(home).write("chunks", "river", rows.slice(2), inputs={}, fingerprint="")
    kept = candidate.write("chunks", "river", rows, inputs={}, fingerprint="")
    gc.collect_garbage(home, RetentionSettings(snapshots=1), dry_run=False)
    assert candidate.paths("chunks", "river", kept.version)[0].exists()
    assert not candidate.paths("chunks", "river", unused.version)[0].exists()
