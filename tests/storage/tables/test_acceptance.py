from pathlib import Path

import pytest

from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import gc
from lightrag_dagster.storage.tables.acceptance import Bounds, accept, accepted, failed_share
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.storage.corpus import OFFICE, RIVER, home_of, rows, write_source


def test_six_tables_of_one_lineage_are_accepted_together(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    assert accepted(home, "river") is None
    outcome = accept(home, "river", Bounds(0.0, 1.0))
    assert (outcome.accepted, outcome.whole) == (True, True)
    record = accepted(home, "river")
    assert record is not None
    tables = SourceTables(home)
    assert record.tables == {table: tables.current(table, "river").version for table in SOURCE_TABLES}  # type: ignore[union-attr]


def test_accepting_again_writes_nothing(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", Bounds(0.0, 1.0))
    before = home.accepted("river").stat()
    accept(home, "river", Bounds(0.0, 1.0))
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
    outcome = accept(home, "river", Bounds(limit, 1.0))
    assert outcome.accepted == (reason is None)
    assert (outcome.reason or "").startswith(reason or "")
    assert outcome.whole
    assert outcome.failed_documents == failed_documents / (2 + failed_documents)
    assert outcome.failed_chunks == failed_chunks / (3 + failed_chunks)


def test_a_bad_version_leaves_the_last_accepted_one(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", Bounds(0.2, 1.0))
    good = accepted(home, "river")
    write_source(home, "river", OFFICE, failed_documents=1)
    assert not accept(home, "river", Bounds(0.2, 1.0)).accepted
    assert accepted(home, "river") == good
    write_source(home, "river", OFFICE)
    assert accept(home, "river", Bounds(0.2, 1.0)).accepted
    assert accepted(home, "river") != good


def test_a_source_without_documents_is_accepted(tmp_path: Path) -> None:
    home = home_of(tmp_path, empty={})
    assert accept(home, "empty", Bounds(0.0, 1.0)).accepted


@pytest.mark.parametrize(
    ("stale", "made_from"),
    [
        ("chunks", "raw_documents"),
        ("extractions", "chunks"),
        ("entity_mentions", "extractions"),
        ("relation_mentions", "extractions"),
        ("parsed", "extractions"),
    ],
)
def test_a_broken_lineage_is_not_accepted(tmp_path: Path, stale: str, made_from: str) -> None:
    home = home_of(tmp_path, river=RIVER)
    tables = SourceTables(home)
    tables.write(stale, "river", tables.read(stale, "river"), inputs={made_from: "older"}, recipe="code")
    outcome = accept(home, "river", Bounds(1.0, 1.0))
    assert (outcome.accepted, outcome.whole) == (False, False)
    assert outcome.reason == (
        f"{stale} of source 'river' was not made from its current {made_from}; materialise {stale} for it"
    )
    assert accepted(home, "river") is None


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    (home.source_table("extractions", "river") / "current.json").unlink()
    assert accept(home, "river", Bounds(1.0, 1.0)).reason == (
        "source 'river' has no extractions yet; materialise extractions for it"
    )


def test_a_bound_that_was_raised_counts_without_reading_a_table(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_source(home, "river", RIVER, failed_documents=1)
    assert not accept(home, "river", Bounds(0.2, 1.0)).accepted
    for file in home.root.rglob("*.parquet"):
        file.unlink()
    assert accept(home, "river", Bounds(0.4, 1.0)).accepted
    assert accepted(home, "river") is not None


@pytest.mark.parametrize(("failed", "share"), [(0, 0.0), (1, 1 / 3), (2, 1 / 2)])
def test_skipped_documents_do_not_count(tmp_path: Path, failed: int, share: float) -> None:
    home = Home(tmp_path)
    write_source(home, "river", RIVER, failed_documents=failed, skipped_documents=9)
    version = SourceTables(home).require("raw_documents", "river")
    assert (version.rows, version.count("status", "skipped"), failed_share(version)) == (11 + failed, 9, share)
    assert accept(home, "river", Bounds(share, 1.0)).accepted
    if failed:
        outcome = accept(home, "river", Bounds(share - 0.01, 1.0))
        assert not outcome.accepted
        assert (outcome.reason or "").startswith(f"{failed} of {2 + failed} documents of source 'river' failed")


def test_a_candidate_replaces_the_accepted_tables_when_it_is_whole(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    accept(home, "river", Bounds(0.2, 1.0))
    before, other = accepted(home, "river"), Home(tmp_path / "other")
    write_source(other, "river", OFFICE)
    tables, candidate, made = SourceTables(home), SourceTables(home, candidate=True), SourceTables(other)

    for table in SOURCE_TABLES:
        current = tables.require(table, "river")
        assert not accept(home, "river", Bounds(0.2, 1.0), candidate=True).accepted or table == "raw_documents"
        version = made.require(table, "river")
        rows = made.read(table, "river")
        candidate.write(table, "river", rows, inputs=version.inputs, recipe="code")
        assert tables.require(table, "river") == current
        assert accepted(home, "river") == before
        assert candidate.require(table, "river").version == version.version != current.version

    assert tables.has_candidate("river")
    assert accept(home, "river", Bounds(0.2, 1.0), candidate=True).accepted
    assert not tables.has_candidate("river")
    record = accepted(home, "river")
    assert record is not None
    assert record.tables == {table: made.require(table, "river").version for table in SOURCE_TABLES}
    assert record.tables == {table: tables.require(table, "river").version for table in SOURCE_TABLES}


def test_garbage_collection_keeps_a_candidate(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    candidate = SourceTables(home, candidate=True)
    rows = candidate.read("chunks", "river").slice(1)
    unused = SourceTables(home).write("chunks", "river", rows.slice(1), inputs={}, recipe="")
    SourceTables(home).write("chunks", "river", rows.slice(2), inputs={}, recipe="")
    kept = candidate.write("chunks", "river", rows, inputs={}, recipe="")
    gc.collect_garbage(home, RetentionSettings(snapshots=1), dry_run=False)
    assert candidate.paths("chunks", "river", kept.version)[0].exists()
    assert not candidate.paths("chunks", "river", unused.version)[0].exists()


ANSWERS = ["extractions", "parsed"]


def answer(home: Home, *rejected: int, read: int = 10, new: int | None = None) -> None:
    """Make a source whose answers have `read` rows that were read in all, and these rejected rows, one number a chunk.

    The accepted version lacks the answers about the last `new` chunks, about all unless given.
    """
    write_source(home, "river", {})
    tables = SourceTables(home)
    since = len(rejected) - (len(rejected) if new is None else new)
    for table, made_from in zip(ANSWERS, ["chunks", "extractions"], strict=True):
        chunks: list[dict[str, object]] = [
            {"source": "river", "chunk_id": f"chunk-{n}", "status": "ok"} for n in range(len(rejected))
        ]
        records = [
            chunk
            | {"relations": read // len(rejected), "rejected_rows": lost, "reason": f"reason {lost}" if lost else None}
            for chunk, lost in zip(chunks, rejected, strict=True)
        ]
        made = rows(SOURCE_TABLES[table], records)
        stored = tables.store(table, "river", made)
        inputs = {made_from: tables.require(made_from, "river").version}
        later = tables.store(table, "river", made.slice(since)).sums
        tables.record(table, "river", [stored], inputs=inputs, recipe="code", new_sums=later)
    for table in ("entity_mentions", "relation_mentions"):
        inputs = {"extractions": tables.require("extractions", "river").version}
        tables.write(table, "river", SOURCE_TABLES[table].empty_table(), inputs=inputs, recipe="code")


def forget_parsed(home: Home) -> None:
    """Leave what a version of this package without the table `parsed` accepted."""
    record = accepted(home, "river")
    assert record is not None
    del record.tables["parsed"]
    atomic.write_text(home.accepted("river"), record.model_dump_json())


@pytest.mark.parametrize(
    ("rejected", "limit", "reason"),
    [
        ((0, 0), 0.0, None),
        ((1, 1, 0, 0), 0.2, None),
        ((1, 1, 0, 0), 0.19, "2 of 10 rows of the answers about source 'river' could not be used (20.0%), more than"),
        ((2, 1, 1, 0), 0.3, "4 of 12 rows of the answers about source 'river' could not be used (33.3%), more than"),
    ],
)
def test_the_rejected_share_decides_of_a_new_source(
    tmp_path: Path, rejected: tuple[int, ...], limit: float, reason: str | None
) -> None:
    home = Home(tmp_path)
    answer(home, *rejected, read=8)
    outcome = accept(home, "river", Bounds(0.0, limit))
    assert outcome.accepted == (reason is None)
    assert (outcome.reason or "").startswith(reason or "")
    assert outcome.rejected_rows == sum(rejected) / (8 + sum(rejected))
    if reason:
        assert f"more than the {limit:.1%} that extraction.max_rejected_share allows; most often: reason 1; " in str(
            outcome.reason
        )
        assert accept(home, "river", Bounds(0.0, 0.5)).accepted  # a bound that was raised counts at once


@pytest.mark.parametrize("older", [False, True])
def test_what_was_accepted_stays_accepted(tmp_path: Path, older: bool) -> None:
    home = Home(tmp_path)
    answer(home, 0, 0)
    assert accept(home, "river", Bounds(0.0, 0.1)).accepted
    if older:
        forget_parsed(home)
    # Another parser rejects rows of the same answers.
    tables = SourceTables(home)
    lost = rows(SOURCE_TABLES["parsed"], [{"chunk_id": "chunk-0", "relations": 1, "rejected_rows": 9, "reason": "r"}])
    inputs = {"extractions": tables.require("extractions", "river").version}
    version = tables.write("parsed", "river", lost, inputs=inputs, recipe="code").version
    outcome = accept(home, "river", Bounds(0.0, 0.1))
    assert (outcome.accepted, outcome.rejected_rows) == (True, 0.9)
    record = accepted(home, "river")
    assert record is not None
    assert record.tables["parsed"] == version


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    ("rejected", "kept"),
    [
        ((5, 5, 0), True),  # 10 of 19, and of the new ones none of 3
        ((5, 5, 1), False),  # of the new ones 1 of 4
    ],
)
def test_new_answers_are_judged_by_themselves_where_older_ones_exceed_the_bound(
    tmp_path: Path, older: bool, rejected: tuple[int, ...], kept: bool
) -> None:
    home = Home(tmp_path)
    answer(home, 5, 5, read=6)
    assert accept(home, "river", Bounds(0.0, 1.0)).accepted
    if older:
        forget_parsed(home)
    good = accepted(home, "river")
    answer(home, *rejected, read=9, new=1)
    outcome = accept(home, "river", Bounds(0.0, 0.2))
    assert outcome.accepted is kept
    assert (accepted(home, "river") == good) is not kept
    if not kept:
        assert "11 of 20 rows" in str(outcome.reason)
        assert "(55.0%, 1 of 4 since it was last accepted)" in str(outcome.reason)


def test_a_new_answer_may_be_bad_where_all_together_are_good(tmp_path: Path) -> None:
    home = Home(tmp_path)
    answer(home, 0, 0, read=20)
    assert accept(home, "river", Bounds(0.0, 0.1)).accepted
    answer(home, 0, 0, 3, read=30, new=1)
    assert accept(home, "river", Bounds(0.0, 0.1)).accepted
