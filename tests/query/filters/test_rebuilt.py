"""Rows under a filter: which are merged, how many at a time, and that they are the same however they were made."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from lightrag_dagster.query.filters import rebuilt
from lightrag_dagster.query.filters.rebuilt import Rebuilt

ROWS = 100
IDS = [f"ent-{number:03}" for number in range(ROWS)]
EVEN = np.arange(ROWS) % 2 == 0
DEGREE = np.arange(ROWS)


@pytest.fixture
def merges() -> list[list[str]]:
    """The ids of each merge."""
    return []


@pytest.fixture
def table(merges: list[list[str]]) -> Rebuilt:
    """Entities. Even ones are as in the whole; of the others, the first half have another name under the filter."""

    def rebuild(ids: list[str]) -> pa.Table:
        merges.append(ids)
        names = [f"seen {one}" if one < "ent-050" else one for one in reversed(ids)]
        described = ["merged"] * len(ids)
        return pa.table(
            {"name": names, "mention_count": [1] * len(ids), "description": described, "entity_id": ids[::-1]}
        )

    rows = pa.table({"entity_id": IDS, "name": IDS, "description": ["whole"] * ROWS, "degree": DEGREE + 1000})
    return Rebuilt(
        rows=rows,
        ids=np.array(IDS, dtype=np.bytes_),
        described=np.ones(ROWS, dtype=bool),
        same=EVEN,
        likely=np.flatnonzero(~EVEN).astype(np.int32)[::-1],
        rebuild=rebuild,
        numbers={"degree": DEGREE},
    )


def row(number: int) -> dict[str, object]:
    """Return the row that a question should see."""
    changed = number % 2 == 1 and number < 50
    return {
        "entity_id": IDS[number],
        "name": f"seen {IDS[number]}" if changed else IDS[number],
        "description": "merged" if changed else "whole",
        "degree": number,
    }


def taken(table: Rebuilt, *rows: int) -> list[dict[str, object]]:
    return table.take(np.array(rows, dtype=np.int32))


def test_rows_come_in_the_order_asked_for(table: Rebuilt) -> None:
    asked = [7, 2, 51, 3, 2, 7]
    assert taken(table, *asked) == [row(one) for one in asked]
    assert taken(table) == []


def test_only_rows_that_differ_are_merged(table: Rebuilt, merges: list[list[str]]) -> None:
    taken(table, 2, 4)
    assert merges == []


def test_the_first_merge_makes_the_likely_ones_too(
    table: Rebuilt, merges: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilt, "_AHEAD_ROWS", 2)
    taken(table, 1)
    assert merges == [[IDS[1], IDS[97], IDS[99]]]
    assert taken(table, 97, 1) == [row(97), row(1)]
    assert len(merges) == 1


def test_few_merges_make_all_rows(table: Rebuilt, merges: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilt, "_AHEAD_ROWS", 2)
    for number in range(1, ROWS, 2):
        assert taken(table, number) == [row(number)]
    assert [len(one) for one in merges] == [3, 10, 37]
    assert sorted(one for ids in merges for one in ids) == IDS[1::2]


def test_rows_kept_are_bounded(table: Rebuilt, merges: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilt, "_KEPT_ROWS", 10)
    monkeypatch.setattr(rebuilt, "_AHEAD_ROWS", 100)
    for number in [*range(1, ROWS, 2), *range(1, ROWS, 2)]:
        assert taken(table, number) == [row(number)]
        assert len(table._kept) <= 10
    assert max(map(len, merges)) == 6  # one that was asked for, and half of those kept


def test_threads_share_the_merges(table: Rebuilt, merges: list[list[str]]) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: taken(table, number, 2), range(ROWS)))
    assert found == [[row(number), row(2)] for number in range(ROWS)]
    assert len(merges) == 1


def test_a_merge_that_fails_is_tried_again(table: Rebuilt, merges: list[list[str]]) -> None:
    def fail(ids: list[str]) -> pa.Table:
        raise MemoryError

    works = table.rebuild
    object.__setattr__(table, "rebuild", fail)
    with pytest.raises(MemoryError):
        taken(table, 1)
    object.__setattr__(table, "rebuild", works)
    assert taken(table, 1) == [row(1)]
