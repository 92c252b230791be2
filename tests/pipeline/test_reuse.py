"""Rows of unchanged text are kept."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.pipeline.chunks import keep_chunks
from lightrag_dagster.pipeline.extractions import keep_extractions
from lightrag_dagster.pipeline.mentions import _parsed_before, keep_mentions
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, earlier_versions
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS, RAW_DOCUMENTS, SORT_KEYS
from lightrag_dagster.settings import ChunkingSettings, load_settings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.stages.extraction.test_mentions import FIRST, GLEANED, extractions
from tests.storage.corpus import rows
from tests.support import FLOOD, RIVER

Rows = tuple[tuple[str, str, list[str]], ...]
BEFORE: Rows = (("c1", "ok", [FIRST]), ("c2", "ok", [FIRST]), ("c3", "failed", []), ("c4", "truncated", [FIRST]))
AFTER: Rows = (("c1", "ok", [FIRST]), ("c2", "ok", [FIRST, GLEANED]), ("c3", "ok", [GLEANED]), ("c4", "ok", [FIRST]))
TABLES = ("entity_mentions", "relation_mentions", "parsed")
SMALL, LARGE = ChunkingSettings(size=16, overlap=4), ChunkingSettings()


def documents(**texts: str) -> pa.Table:
    """Return rows of RAW_DOCUMENTS, one a path."""
    records: list[dict[str, Any]] = [
        {
            "source": "notes",
            "doc_id": identity.document_id("notes", path),
            "path": path,
            "content": text,
            "content_hash": identity.text_digest(text),
            "content_length": len(text),
            "media_type": "text/plain",
            "status": "processed",
        }
        for path, text in texts.items()
    ]
    return rows(RAW_DOCUMENTS, records)


def ordered(chunks: pa.Table) -> pa.Table:
    return chunks.sort_by([(column, "ascending") for column in SORT_KEYS["chunks"]])


@pytest.mark.parametrize(
    ("now", "same", "new"),
    [
        ({"a": RIVER, "b": FLOOD}, ["a", "b"], []),
        ({"a": RIVER, "b": f"{FLOOD} More."}, ["a"], ["b"]),
        ({"a": RIVER}, ["a"], []),
        ({"renamed": RIVER, "b": FLOOD}, ["b"], ["renamed"]),
        ({"a": RIVER, "copy": RIVER, "b": FLOOD, "c": "New."}, ["a", "b"], ["copy", "c"]),
        ({"a": FLOOD, "b": RIVER}, [], ["a", "b"]),
        ({}, [], []),
    ],
)
def test_unchanged_text_keeps_its_chunks(now: dict[str, str], same: list[str], new: list[str]) -> None:
    earlier = chunk_documents(documents(a=RIVER, b=FLOOD), SMALL, "small")
    kept, left = keep_chunks(documents(**now), [earlier])

    expected = chunk_documents(documents(**{path: now[path] for path in same}), SMALL, "small")
    assert ordered(kept).equals(ordered(expected))
    assert sorted(left["path"].to_pylist()) == sorted(new)
    assert left.schema.equals(RAW_DOCUMENTS)
    assert chunk_documents(left, LARGE).num_rows == len(new)


def test_the_first_table_that_has_a_text_counts() -> None:
    first = chunk_documents(documents(a=RIVER), LARGE, "large")
    second = chunk_documents(documents(a=RIVER, b=FLOOD), SMALL, "small")
    kept, left = keep_chunks(documents(a=RIVER, b=FLOOD), [first, second])
    recipes = {
        (path, recipe) for path, recipe in zip(kept["path"].to_pylist(), kept["recipe"].to_pylist(), strict=True)
    }
    assert recipes == {("a", "large"), ("b", "small")}
    assert left.num_rows == 0


def test_other_text_of_the_same_hash_but_media_type_is_cut_again() -> None:
    earlier = chunk_documents(documents(a=RIVER), LARGE)
    at = RAW_DOCUMENTS.get_field_index("media_type")
    markdown = documents(a=RIVER).set_column(at, RAW_DOCUMENTS.field(at), pa.array(["text/markdown"]))
    assert keep_chunks(markdown, [earlier])[1].num_rows == 1


def answered(*records: tuple[str, str | None, str]) -> pa.Table:
    """Return rows of EXTRACTIONS: chunk, kind of error, recipe."""
    return rows(
        EXTRACTIONS,
        [
            {"chunk_id": chunk, "error_kind": kind, "recipe": recipe, "status": "failed" if kind else "ok"}
            for chunk, kind, recipe in records
        ],
    )


@pytest.mark.parametrize(("retry_failed", "asked"), [(False, ["b", "d"]), (True, ["b", "c", "d"])])
def test_only_missing_chunks_and_those_that_may_succeed_are_asked_about(retry_failed: bool, asked: list[str]) -> None:
    chunks = rows(CHUNKS, [{"chunk_id": one} for one in "abcda"])
    earlier = answered(("a", None, "old"), ("b", "transient", "old"), ("c", "permanent", "old"), ("gone", None, "old"))
    kept, left = keep_extractions(chunks, [earlier, answered(("a", None, "older"))], retry_failed=retry_failed)
    assert left["chunk_id"].to_pylist() == asked
    assert set(kept["chunk_id"].to_pylist()) == set("abcd") - set(asked)
    assert set(kept["recipe"].to_pylist()) == {"old"}
    assert kept.schema.equals(EXTRACTIONS)


@pytest.mark.parametrize(
    ("written", "now", "kept"),
    [
        ("de", "de", True),
        ("de", "fr", False),
        ("de", "", False),
        ("", "de", False),
        ("", "", True),
        (None, "de", True),  # made before the setting was: outdated, and kept as any row of another recipe
        ("de", None, True),
    ],
)
def test_an_answer_counts_for_the_language_it_was_written_in(written: str | None, now: str | None, kept: bool) -> None:
    chunks = rows(CHUNKS, [{"chunk_id": "a"}, {"chunk_id": "b"}])
    chunks = chunks.append_column("language", pa.array([now, "en"]))
    earlier = answered(("a", None, "r"), ("b", None, "r"))
    keys = [identity.extraction_key("a", "r", written), identity.extraction_key("b", "r", "en")]
    at = EXTRACTIONS.get_field_index("extraction_key")
    earlier = earlier.set_column(at, EXTRACTIONS.field(at), pa.array(keys))
    same, left = keep_extractions(chunks, [earlier], retry_failed=False)
    assert same["chunk_id"].to_pylist() == (["a", "b"] if kept else ["b"])
    assert left["chunk_id"].to_pylist() == ([] if kept else ["a"])


def test_a_row_of_the_accepted_version_replaces_one_that_failed_since() -> None:
    chunks = rows(CHUNKS, [{"chunk_id": "a"}])
    kept, left = keep_extractions(
        chunks, [answered(("a", "transient", "new")), answered(("a", None, "old"))], retry_failed=False
    )
    assert (kept["recipe"].to_pylist(), left.num_rows) == (["old"], 0)


def earlier_rows(tables: SourceTables, recipe: str | None) -> list[pa.Table]:
    versions = tuple(earlier_versions(tables, "extractions", "notes"))
    step = IngestionStep("notes", tables, Recipes.of(load_settings()))
    return Reusable({"extractions": versions}, recipe).rows(step, "extractions", Shard())


@pytest.mark.parametrize(("backfill", "kept"), [(False, ["a", "b"]), (True, ["b"])])
def test_a_backfill_keeps_rows_of_todays_recipe_alone(tmp_path: Path, backfill: bool, kept: list[str]) -> None:
    tables = SourceTables(Home(tmp_path), candidate=backfill)
    SourceTables(Home(tmp_path)).write(
        "extractions", "notes", answered(("a", None, "old"), ("b", None, "new")), inputs={}, recipe=""
    )
    (found,) = earlier_rows(tables, "new" if backfill else None)
    assert found["chunk_id"].to_pylist() == kept


@pytest.fixture
def tables(tmp_path: Path) -> SourceTables:
    """The mentions of BEFORE."""
    tables, before = SourceTables(Home(tmp_path)), extractions(*BEFORE)
    version = tables.write("extractions", "notes", before, inputs={}, recipe="").version
    for name, mentions in zip(TABLES, parse_extractions(before), strict=True):
        tables.write(name, "notes", mentions, inputs={"extractions": version}, recipe="rules")
    return tables


def in_order(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in ("chunk_id", "mention_index") if name in rows.column_names])


def test_what_did_not_change_is_not_parsed_again(tables: SourceTables) -> None:
    now = extractions(*AFTER)
    *kept, left = keep_mentions(now, extractions(*BEFORE), [tables.read(name, "notes") for name in TABLES])
    assert left["chunk_id"].to_pylist() == ["c2", "c3", "c4"]
    assert [set(rows["chunk_id"].to_pylist()) for rows in kept] == [{"c1"}] * 3
    for same, new, everything in zip(kept, parse_extractions(left), parse_extractions(now), strict=True):
        assert in_order(pa.concat_tables([same, new])).equals(in_order(everything))


def test_all_is_left_to_be_parsed_when_the_rules_changed(tables: SourceTables) -> None:
    assert _parsed_before(tables, "notes", "rules").versions
    assert not _parsed_before(tables, "notes", "other rules").versions


@pytest.mark.parametrize("gone", ["extractions", *TABLES])
def test_all_is_left_to_be_parsed_when_something_is_gone(tables: SourceTables, gone: str) -> None:
    (path,) = tables.paths(gone, "notes", tables.require(gone, "notes").version)
    (path if gone == "extractions" else path.with_name("current.json")).unlink()
    assert not _parsed_before(tables, "notes", "rules").versions


def test_all_is_left_to_be_parsed_when_a_run_was_killed_between_the_tables(tables: SourceTables) -> None:
    mentions = tables.read("entity_mentions", "notes")
    tables.write("entity_mentions", "notes", mentions, inputs={"extractions": "newer"}, recipe="rules")
    assert not _parsed_before(tables, "notes", "rules").versions
