"""What was lost of each source is counted from the records of its tables, and added up."""

import pytest

from lightrag_dagster.pipeline.losses import Loss, added_up, lost_of_source, source_warning, unread_warning
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.readers import UNSUPPORTED
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.versions import TableVersion
from tests.support import RIVER, build, write_source

NAMELESS = "the coil is heated by the current until it melts and the valve opens slowly"


def version(table: str, rows: int, **counts: dict[str, int]) -> TableVersion:
    return TableVersion(
        table=table, source="wiki", version="v", rows=rows, inputs={}, recipe="", counts=counts, reasons=[]
    )


PARSED = version("parsed", 383).model_copy(update={"sums": {"entities": 3000, "relations": 1892, "rejected_rows": 312}})
READ_FACTS = version("read_facts@works", 6).model_copy(
    update={"sums": {"facts": 60, "rejected_rows": 40, "open_dates": 3}}
)
WORDS = version("raw_documents", 2).model_copy(update={"sums": {"file_words": 1500, "lost_words": 31}})


@pytest.mark.parametrize(
    ("tables", "lines"),
    [
        ([], []),
        ([version("raw_documents", 3, status={"processed": 3})], []),
        (
            [version("raw_documents", 9, status={"processed": 3, "failed": 2, "skipped": 3, "empty": 1})],
            ["documents: 2 failed, 3 skipped, 1 empty of 9 (wiki)"],
        ),
        (
            [
                version(
                    "raw_documents", 1200, status={"stale": 1, "processed": 1199}, error={"stale": 1, "processed": 7}
                )
            ],
            ["documents: 1 stale, 7 read with a note of 1,200 (wiki)"],
        ),
        (
            [version("raw_documents", 2, status={"disabled": 1, "duplicate": 1}, error={"disabled": 1})],
            ["documents: 1 disabled of 2 (wiki)"],
        ),
        (
            [version("extractions", 8, status={"ok": 5, "failed": 2, "truncated": 1}, error={"failed": 2, "ok": 1})],
            ["chunks: 2 failed, 1 truncated, 1 without the last round of 8 (wiki)"],
        ),
        ([PARSED], ["rows of answers: 312 rejected of 5,204 (wiki)"]),
        (
            [version("parsed", 20, reason={"answer without a row": 3, "name of more than 256 characters": 1})],
            ["answers: 3 without a row of 20 (wiki)"],
        ),
        ([WORDS], ["words of files: 31 lost words of 1,500 (wiki)"]),
        (
            [
                version("readings@works", 8, status={"ok": 5, "failed": 2, "truncated": 1}),
                version("facts@works", 60),
                READ_FACTS,
            ],
            [
                "chunks of pass works: 2 failed, 1 truncated of 8 (wiki)",
                "rows of answers of pass works: 40 rejected of 100 (wiki)",
                "dates of facts of pass works: 3 open of 60 (wiki)",
            ],
        ),
    ],
)
def test_the_losses_of_a_source_are_one_line_a_kind(tables: list[TableVersion], lines: list[str]) -> None:
    found = lost_of_source("wiki", {one.table: one for one in tables})
    assert [str(loss) for loss in added_up(found)] == lines


def test_the_sum_counts_all_rows_and_names_the_sources_that_lost_some() -> None:
    losses = [
        Loss("documents", {"failed": 1, "empty": 0}, 10, ("a",), "sql"),
        Loss("documents", {"failed": 0, "empty": 0}, 20, (), "sql"),
        Loss("chunks", {"failed": 0}, 5, (), "sql"),
        Loss("documents", {"failed": 2, "empty": 4}, 30, ("c",), "sql"),
    ]
    assert [str(loss) for loss in added_up(losses)] == ["documents: 3 failed, 4 empty of 60 (a, c)"]


@pytest.mark.parametrize(
    ("mentions", "extractions", "begin", "found"),
    [
        (0, {"ok": 4}, "no name of wiki is in the graph: the offline rules", "found no name in 4 chunks"),
        (2, {"ok": 4}, "few names of wiki are in the graph: the offline rules", "found names 2 times in 4 chunks"),
        (2, {"ok": 3, "failed": 1}, "None", ""),
        (0, {"failed": 4}, "None", ""),
    ],
)
def test_a_source_that_names_little_is_warned_of(
    settings: Settings, mentions: int, extractions: dict[str, int], begin: str, found: str
) -> None:
    tables = [version("entity_mentions", mentions), version("extractions", 4, status=extractions)]
    warning = str(source_warning("wiki", {one.table: one for one in tables}, Recipes.of(settings)))
    assert warning.startswith(begin)
    assert found in warning


def test_the_names_of_facts_are_in_the_graph_too(settings: Settings) -> None:
    tables = {
        "extractions": version("extractions", 7, status={"ok": 7}),
        "entity_mentions": version("entity_mentions", 0),
    }
    assert source_warning("wiki", tables | {"facts@columns": version("facts@columns", 0)}, Recipes.of(settings))
    assert not source_warning("wiki", tables | {"facts@columns": version("facts@columns", 7)}, Recipes.of(settings))


def test_an_empty_source_is_told_of(settings: Settings) -> None:
    tables = {one: version(one, 0) for one in ("raw_documents", "extractions", "entity_mentions")}
    said = "wiki is empty: nothing is listed in it; check "
    assert str(source_warning("wiki", tables, Recipes.of(settings))).startswith(said)


@pytest.mark.long
@pytest.mark.parametrize("others", [{}, {"numbers": {"a.md": "1 2 3"}}], ids=["alone", "beside a source without names"])
def test_an_empty_source_is_told_of_in_an_empty_graph(settings: Settings, others: dict[str, dict[str, str]]) -> None:
    for name, files in others.items():
        write_source(settings, name, files)
    (settings.sources / "wiki").mkdir(parents=True)
    build(settings)
    told = pending(Situation.looking(settings)).warnings
    assert sum(line.startswith("wiki is empty") for line in told) == 1


@pytest.mark.parametrize(
    ("rows", "status", "skipped", "said"),
    [
        (23, {"skipped": 23}, {UNSUPPORTED: 23}, "23 of 23 files of wiki are skipped, since their types are not known"),
        (1, {"skipped": 1}, {UNSUPPORTED: 1}, "1 of 1 file of wiki are skipped"),
        (5, {"skipped": 3, "failed": 2}, {UNSUPPORTED: 3}, "settings of named_sources.wiki"),
        (4, {"skipped": 2, "processed": 2}, {UNSUPPORTED: 2}, "None"),
        (4, {"skipped": 4}, {"image/png": 3, UNSUPPORTED: 1}, "None"),
        (0, {}, {}, "None"),
    ],
)
def test_a_source_most_of_whose_files_are_of_no_known_type_is_warned_of(
    rows: int, status: dict[str, int], skipped: dict[str, int], said: str
) -> None:
    assert said in str(
        unread_warning("wiki", {"raw_documents": version("raw_documents", rows, status=status, skipped=skipped)})
    )
    assert unread_warning("wiki", {}) is None


@pytest.mark.long
def test_an_empty_graph_is_a_warning_that_says_what_to_do(settings: Settings) -> None:
    write_source(settings, "tech", {"a.txt": NAMELESS, "b.txt": ""})
    build(settings)
    found = pending(Situation.looking(settings))
    assert [str(loss) for loss in found.losses] == ["documents: 1 empty of 2 (tech)"]
    (warning,) = found.warnings
    assert "is empty: the offline rules" in warning
    assert "ask in the mode fusion, bm25 or naive, or extract with a model" in warning

    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    (warning,) = pending(Situation.looking(settings)).warnings
    assert warning.startswith("no name of tech is in the graph")
