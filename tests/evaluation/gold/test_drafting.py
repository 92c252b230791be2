"""Drafts of gold files: a share of each source, length and recipe, with what is stored as a first answer."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.cli.rows import write_new_csv
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.gold.drafting import draft
from lightrag_dagster.evaluation.gold.judged import find_passages, judge, name_chunks
from lightrag_dagster.evaluation.gold.rows import COLUMNS, read_gold
from lightrag_dagster.evaluation.gold.scores import score
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.duckdb import in_memory
from tests.gold import chunk_name, reads_with, settings_in
from tests.loopback import Loopback
from tests.support import FLOOD, build, write_source


def drawn(chunks: list[tuple[str, str, int]], count: int, known: list[str] | None = None) -> list[str]:
    """Return the texts that are drawn of chunks: source, recipe and length; the text names these and a number."""
    rows = [
        {
            "source": source,
            "chunk_id": f"chunk-{at}",
            "doc_id": f"doc-{at}",
            "path": f"{at}.md",
            "tokens": tokens,
            "content": f"{source} {recipe} {tokens} {at}",
            "recipe": recipe,
        }
        for at, (source, recipe, tokens) in enumerate(chunks)
    ]
    with in_memory() as connection:
        name_chunks(connection)
        table = pa.Table.from_pylist(rows)
        connection.register("every_chunk", table.drop_columns("recipe"))
        connection.register("every_extraction", table.select(["source", "chunk_id", "recipe"]))
        names = pa.array([chunk_name(one) for one in known or []], pa.string())
        connection.register("known", pa.table({"chunk": names}))
        found = connection.sql(read_sql("lightrag_dagster.evaluation.gold", "sql/drafted"), params={"count": count})
        texts: list[str] = found.to_arrow_table()["content"].to_pylist()
        return texts


def test_each_source_length_and_recipe_has_its_share() -> None:
    large = [("large", "new" if at % 4 else "old", at % 300) for at in range(900)]
    small = [("small", "new", at) for at in range(12)]
    found = drawn([*large, *small], 36)
    words = [one.split() for one in found]
    # Strata: three lengths of `large` by each of two recipes, and three of `small`.
    assert Counter(source for source, *_ in words) == {"large": 24, "small": 12}
    assert Counter(recipe for source, recipe, *_ in words if source == "large") == {"new": 12, "old": 12}
    lengths = Counter(int(tokens) // 100 for source, _, tokens, _ in words if source == "large")
    assert lengths == {0: 8, 1: 8, 2: 8}
    assert drawn([*large, *small], 36) == found
    assert drawn([*large, *small], 9) == found[:9], "a smaller draft is the beginning of a larger one"
    assert set(drawn([*large, *small], 2000)) == set(drawn([*large, *small], 912))


def test_passages_in_gold_files_are_not_drawn_again() -> None:
    chunks = [("notes", "r", at) for at in range(20)]
    first = drawn(chunks, 8)
    second = drawn(chunks, 20, first)
    assert (len(second), set(first) & set(second)) == (12, set())


@pytest.mark.long
def test_dates_are_drafted_so_that_a_spreadsheet_leaves_them_as_they_are(tmp_path: Path, loopback: Loopback) -> None:
    names = ["2021", "2021-04-01", "Halden Weir", "May 2023"]
    loopback.chat = reads_with({"good": (0.0, 0.0)}, names=lambda _: names)
    settings = settings_in(tmp_path)
    write_source(settings, "notes", {"a.md": FLOOD})
    build(settings)
    rows = list(draft(Situation.looking(settings), set(), 1))
    write_new_csv(tmp_path / "a.csv", COLUMNS, [[*rows[0][:7], "done", ""], *rows[1:]], SettingsError)
    written = [line.split(",")[2] for line in (tmp_path / "a.csv").read_text("utf-8-sig").splitlines()]
    assert written[2:] == ["2021", "'2021-04-01", "Halden Weir", "'May 2023"]
    assert [one.name for one in read_gold(tmp_path / "a.csv").rows] == names


def published(home: Path) -> Settings:
    return load_settings(home=home, sources=home.parent / "sources")


def test_a_draft_that_is_called_done_has_no_fault(published_home: Path, tmp_path: Path) -> None:
    situation = Situation.looking(published(published_home))
    rows = [list(one) for one in draft(situation, set(), 40)]
    passages = [one for one in rows if one[1] == "passage"]
    assert len(passages) == 4, "a text that two sources have is one passage"
    assert {str(one[2]).split("/")[0] for one in passages} == {"archive", "office"}
    assert {one[1] for one in rows} == {"passage", "entity", "relation"}
    assert [one[0] for one in passages] == [chunk_name(str(one[8])) for one in passages]
    write_new_csv(tmp_path / "a.csv", COLUMNS, rows, SettingsError)
    assert (read_gold(tmp_path).passages, len(read_gold(tmp_path).open)) == ({}, 4)
    for one in passages:
        one[7] = "done"
    write_new_csv(tmp_path / "b.csv", COLUMNS, rows, SettingsError)
    gold = read_gold(tmp_path / "b.csv")
    found = find_passages(situation, gold)
    assert (found.gone, found.located.num_rows) == ([], 4)
    judged = judge(
        gold, found.located, found.tables.values(), situation.decided.curation, situation.settings.merging.types
    )
    assert {one.kind: one.f1.mean for one in score(judged) if one.grouping == "all"} == {
        "all": 1.0, "entity": 1.0, "type": 1.0, "relation": 1.0,
    }  # fmt: skip
    assert list(draft(situation, set(gold.passages), 40)) == []


def test_an_empty_home_has_nothing_to_draft(settings: Settings) -> None:
    assert list(draft(Situation.looking(settings), set(), 40)) == []
