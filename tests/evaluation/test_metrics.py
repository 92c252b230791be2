import math
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightrag_dagster.evaluation.metrics import GOLD, HITS, measure


def measured(gold: Sequence[str], ranked: Sequence[Sequence[str]], k: int) -> dict[str, float]:
    """Measure one question; `ranked` holds the items of each chunk."""
    asked = pa.table({"mode": ["naive"], "question": ["q"]})
    hits = [("naive", "q", rank, item) for rank, items in enumerate(ranked, start=1) for item in items]
    columns = list(zip(*hits, strict=True)) or [(), (), (), ()]
    table = pa.Table.from_arrays(
        [pa.array(one, kind) for one, kind in zip(columns, HITS.types, strict=True)], schema=HITS
    )
    wanted = pa.Table.from_pylist([{"question": "q", "item": item} for item in gold], GOLD)
    (row,) = measure(asked, table, wanted, k).to_pylist()
    assert k != 2 or row["recall_at_2"] == row["recall"]
    return {name: row[name] for name in ("recall", "precision", "mrr", "ndcg")}


SECOND = 1 / math.log2(3)


@pytest.mark.parametrize(
    ("gold", "ranked", "expected"),
    [
        (["a"], [["a"], ["x"], ["y"]], (1, 0.5, 1, 1)),
        (["a"], [["x"], ["a"], ["y"]], (1, 0.5, 0.5, SECOND)),
        (["a"], [["x"], ["y"], ["a"]], (0, 0, 1 / 3, 0)),
        (["a"], [], (0, 0, 0, 0)),
        (["a", "b"], [["a"], ["b"]], (1, 1, 1, 1)),
        (["a", "b"], [["b"], ["x"], ["a"]], (0.5, 0.5, 1, 1 / (1 + SECOND))),
        (["a", "b", "c"], [["a"], ["b"], ["c"]], (2 / 3, 1, 1, 1)),
        # Two chunks of one document: both are relevant, the second gains nothing.
        (["a", "b"], [["a"], ["a"]], (0.5, 1, 1, 1 / (1 + SECOND))),
        # One chunk that stands in both documents is worth no more than the ideal.
        (["a", "b"], [["a", "b"], ["x"]], (1, 0.5, 1, 1)),
    ],
)
def test_measures_at_2(gold: list[str], ranked: list[list[str]], expected: tuple[float, ...]) -> None:
    assert tuple(measured(gold, ranked, 2).values()) == pytest.approx(expected)


@given(
    gold=st.sets(st.sampled_from("abcdef"), min_size=1),
    ranked=st.permutations([[one] for one in "abcdefgh"]),
    k=st.integers(1, 10),
)
@settings(max_examples=8, deadline=None)
def test_all_measures_are_shares_and_a_better_order_is_never_worse(
    gold: set[str], ranked: list[list[str]], k: int
) -> None:
    before = measured(sorted(gold), ranked, k)
    best = measured(sorted(gold), sorted(ranked, key=lambda items: items[0] not in gold), k)
    assert all(0 <= value <= 1 for value in before.values())
    assert all(best[name] >= before[name] for name in before)
    assert best["ndcg"] == pytest.approx(1)


def test_recall_at_2_looks_no_further() -> None:
    asked = pa.table({"mode": ["naive"], "question": ["q"]})
    hits = [{"mode": "naive", "question": "q", "rank": rank, "item": item} for rank, item in ((1, "a"), (3, "b"))]
    gold = pa.Table.from_pylist([{"question": "q", "item": item} for item in "ab"], GOLD)
    (row,) = measure(asked, pa.Table.from_pylist(hits, HITS), gold, 5).to_pylist()
    assert (row["recall_at_2"], row["recall"]) == (0.5, 1)


def test_every_mode_and_question_gets_a_row() -> None:
    asked = pa.table({"mode": ["a", "a", "b"], "question": ["p", "q", "p"]})
    gold = pa.Table.from_pylist([{"question": one, "item": "x"} for one in "pq"], GOLD)
    hits = pa.Table.from_pylist([{"mode": "b", "question": "p", "rank": 1, "item": "x"}], HITS)
    rows = measure(asked, hits, gold, 5).to_pylist()
    assert [(row["mode"], row["question"], row["recall"]) for row in rows] == [
        ("a", "p", 0),
        ("a", "q", 0),
        ("b", "p", 1),
    ]
