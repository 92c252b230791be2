"""Mentions of extractions that did not change are kept, and equal those of parsing everything."""

from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.build.reuse import keep_mentions
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import SourceTables
from tests.stages.extraction.test_mentions import FIRST, GLEANED, extractions

Rows = tuple[tuple[str, str, list[str]], ...]
BEFORE: Rows = (("c1", "ok", [FIRST]), ("c2", "ok", [FIRST]), ("c3", "failed", []), ("c4", "truncated", [FIRST]))
AFTER: Rows = (("c1", "ok", [FIRST]), ("c2", "ok", [FIRST, GLEANED]), ("c3", "ok", [GLEANED]), ("c4", "ok", [FIRST]))
TABLES = ("entity_mentions", "relation_mentions")


@pytest.fixture
def tables(tmp_path: Path) -> SourceTables:
    """The mentions of BEFORE."""
    tables, rows = SourceTables(Home(tmp_path)), extractions(*BEFORE)
    version = tables.write("extractions", "notes", rows, inputs={}, fingerprint="").version
    for name, mentions in zip(TABLES, parse_extractions(rows), strict=True):
        tables.write(name, "notes", mentions, inputs={"extractions": version}, fingerprint="rules")
    return tables


def in_order(mentions: pa.Table) -> pa.Table:
    return mentions.sort_by([("chunk_id", "ascending"), ("mention_index", "ascending")])


def test_what_did_not_change_is_not_parsed_again(tables: SourceTables) -> None:
    now = extractions(*AFTER)
    *kept, left = keep_mentions(tables, "notes", now, "rules")
    assert left["chunk_id"].to_pylist() == ["c2", "c3", "c4"]
    assert [set(rows["chunk_id"].to_pylist()) for rows in kept] == [{"c1"}, {"c1"}]
    for rows, new, everything in zip(kept, parse_extractions(left), parse_extractions(now), strict=True):
        assert in_order(pa.concat_tables([rows, new])).equals(in_order(everything))


def test_all_is_left_to_be_parsed_when_the_rules_changed(tables: SourceTables) -> None:
    assert keep_mentions(tables, "notes", extractions(*AFTER), "other rules")[2].num_rows == len(AFTER)


@pytest.mark.parametrize("gone", ["extractions", *TABLES])
def test_all_is_left_to_be_parsed_when_something_is_gone(tables: SourceTables, gone: str) -> None:
    path = tables.path(gone, "notes", tables.require(gone, "notes").version)
    (path if gone == "extractions" else path.with_name("current.json")).unlink()
    assert keep_mentions(tables, "notes", extractions(*AFTER), "rules")[2].num_rows == len(AFTER)


def test_all_is_left_to_be_parsed_when_a_run_was_killed_between_the_two_tables(tables: SourceTables) -> None:
    mentions = tables.read("entity_mentions", "notes")
    tables.write("entity_mentions", "notes", mentions, inputs={"extractions": "newer"}, fingerprint="rules")
    assert keep_mentions(tables, "notes", extractions(*AFTER), "rules")[2].num_rows == len(AFTER)
