"""Precision, recall and F1 by hand, and their intervals beside a bootstrap in plain Python."""

import random
from collections.abc import Mapping, Sequence
from math import isnan
from types import MappingProxyType

import pyarrow as pa
import pytest

from lightrag_dagster.evaluation.gold.scores import Score, as_table, below, compare, score, worse_than_before
from lightrag_dagster.schemas import EXTRACTION_EVALUATION

_COLUMNS = ("chunk", "kind", "shown", "type", "outcome", "source", "recipe", "model")


def judged(*rows: tuple[str, str, str, str | None], source: str = "notes", recipe: str = "r1") -> pa.Table:
    """Return rows of `judge`: chunk, kind, type and outcome."""
    said = [(chunk, kind, "X", kinds, outcome, source, recipe, "m") for chunk, kind, kinds, outcome in rows]
    schema = pa.schema([(name, pa.string()) for name in _COLUMNS])
    return pa.Table.from_pylist([dict(zip(_COLUMNS, one, strict=True)) for one in said], schema)


def outcomes(chunk: str, right: int, wrong: int, missed: int, kind: str = "entity") -> list[tuple[str, str, str, str]]:
    numbers = {"right": right, "wrong": wrong, "missed": missed}
    return [(chunk, kind, "person", outcome) for outcome, number in numbers.items() for _ in range(number)]


def test_numbers_counted_by_hand() -> None:
    rows = judged(*outcomes("a", 3, 1, 0), *outcomes("b", 1, 0, 2), *outcomes("b", 1, 1, 0, "relation"))
    found = {(one.grouping, one.kind): one for one in score(rows)}
    entities, relations, every = (found["all", kind] for kind in ("entity", "relation", "all"))
    assert (entities.passages, entities.right, entities.wrong, entities.missed) == (2, 4, 1, 2)
    assert (entities.precision.mean, entities.recall.mean) == (4 / 5, 4 / 6)
    assert entities.f1.mean == pytest.approx(8 / 11)
    assert (relations.passages, relations.precision.mean, relations.recall.mean) == (1, 1 / 2, 1.0)
    assert (every.right, every.wrong, every.missed) == (5, 2, 2)
    assert {one for one, _ in found} == {"all", "recipe", "model", "source", "type"}
    assert ("type", "all") not in found
    assert ("type", "relation") not in found


def test_groups_are_of_the_passages_of_their_value() -> None:
    rows = pa.concat_tables(
        [
            judged(*outcomes("a", 1, 0, 1), source="one", recipe="r1"),
            judged(("b", "entity", "place", "right"), ("b", "entity", "person", "wrong"), source="two", recipe="r2"),
        ]
    )
    found = {(one.grouping, one.value): one for one in score(rows)}
    for grouping, value in (("source", "one"), ("recipe", "r1")):
        assert (found[grouping, value].recall.mean, found[grouping, value].precision.mean) == (0.5, 1.0)
    assert (found["source", "two"].recall.mean, found["source", "two"].precision.mean) == (1.0, 0.5)
    assert (found["type", "person"].right, found["type", "person"].wrong, found["type", "person"].missed) == (1, 1, 1)
    assert found["type", "place"].f1.mean == 1.0
    assert found["all", "all"].value == "all"


def test_a_passage_of_which_neither_says_anything_is_one_of_the_passages() -> None:
    (one, *_) = score(judged(*outcomes("a", 1, 1, 0), ("b", "entity", "", None)))
    assert (one.passages, one.right, one.wrong, one.missed) == (2, 1, 1, 0)
    only = score(judged(("b", "relation", "", None)))[0]
    assert (only.passages, only.right) == (1, 0)
    assert all(isnan(measure.mean) for measure in (only.precision, only.recall, only.f1))


def test_what_has_no_rows_is_not_a_number_rather_than_good_or_bad() -> None:
    assert score(judged()) == []
    missed = score(judged(*outcomes("a", 0, 0, 3)))[0]
    assert isnan(missed.precision.mean)
    assert (missed.recall.mean, missed.f1.mean) == (0.0, 0.0)


def f1_of(counts: Sequence[tuple[int, int, int]]) -> float:
    right, wrong, missed = (sum(one[at] for one in counts) for at in range(3))
    return 2 * right / (2 * right + wrong + missed)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[round(share * (len(values) - 1))]


def test_intervals_are_those_of_a_plain_bootstrap_over_passages() -> None:
    chance = random.Random(3)
    counts = [(chance.randrange(1, 9), chance.randrange(4), chance.randrange(4)) for _ in range(30)]
    others = [(right, wrong + chance.randrange(2), missed + chance.randrange(3)) for right, wrong, missed in counts]
    before, after = (
        judged(*(row for at, one in enumerate(each) for row in outcomes(f"c{at}", *one))) for each in (counts, others)
    )
    drawn = [[chance.randrange(30) for _ in range(30)] for _ in range(4000)]
    plain = [f1_of([counts[at] for at in one]) for one in drawn]
    f1 = score(before)[0].f1
    assert f1.mean == pytest.approx(f1_of(counts))
    assert (f1.low, f1.high) == pytest.approx((percentile(plain, 0.025), percentile(plain, 0.975)), abs=0.006)
    paired = [f1_of([others[at] for at in one]) - f1_of([counts[at] for at in one]) for one in drawn]
    found = compare(before, after)
    assert found.mean == pytest.approx(f1_of(others) - f1_of(counts))
    assert (found.low, found.high) == pytest.approx((percentile(paired, 0.025), percentile(paired, 0.975)), abs=0.006)
    assert found.high - found.low < f1.high - f1.low, "pairs know more than each of the two"


def test_a_comparison_is_over_what_both_were_answered_about() -> None:
    before = judged(*outcomes("a", 2, 0, 0), *outcomes("b", 2, 0, 0), *outcomes("b", 0, 9, 0, "fact"))
    after = judged(*outcomes("b", 1, 0, 1), *outcomes("c", 0, 9, 0))
    found = compare(before, after)
    assert found.mean == pytest.approx(2 / 3 - 1)
    assert found.questions == 1
    nothing = compare(before, judged())
    assert (isnan(nothing.mean), isnan(nothing.high), nothing.questions) == (True, True, 0)


def test_rows_forged_where_nothing_stands_make_a_recipe_worse() -> None:
    empty = [(f"e{at}", "entity", "", None) for at in range(10)]
    forged = [row for at in range(10) for row in outcomes(f"e{at}", 0, 3, 0)]
    stated = outcomes("a", 9, 0, 0)
    found = compare(judged(*stated, *empty), judged(*stated, *forged))
    assert found.mean == pytest.approx(18 / 48 - 1)
    assert found.questions == 11
    assert found.high < 0


def test_a_bound_is_of_all_passages() -> None:
    found = score(judged(*outcomes("a", 1, 1, 0), *outcomes("a", 2, 0, 0, "relation")))
    assert [one.kind for one in below(found, 0.7)] == ["entity"]
    assert below(found, None) == below(found, 0.1) == []


def history(
    *snapshots: dict[str, tuple[str, float, float, float]], gold: Mapping[int, int] = MappingProxyType({})
) -> pa.Table:
    """Return EXTRACTION_EVALUATION of snapshots gen-1…: recipe → kind and F1 with the ends of its interval.

    `gold` are the gold rows of a snapshot by its number; 100 unless given.
    """
    rows = [
        {
            **dict.fromkeys(EXTRACTION_EVALUATION.names),
            "sequence": at,
            "snapshot_id": f"gen-{at}",
            "grouping": grouping,
            "value": recipe if grouping == "recipe" else "all",
            "kind": kind,
            "passages": 30,
            "right_rows": gold.get(at, 100),
            "missed_rows": 0,
            "f1": f1,
            "f1_low": low,
            "f1_high": high,
        }
        for at, recipes in enumerate(snapshots, 1)
        for recipe, (kind, f1, low, high) in recipes.items()
        for grouping in ("recipe", "all")
    ]
    return pa.Table.from_pylist(rows, EXTRACTION_EVALUATION)


GOOD, POOR, SO_SO = ("entity", 0.9, 0.85, 0.95), ("entity", 0.6, 0.5, 0.7), ("entity", 0.84, 0.79, 0.9)


@pytest.mark.parametrize(
    ("snapshots", "is_worse"),
    [
        (({"r1": GOOD},), False),
        (({"r1": GOOD}, {"r2": POOR}), True),
        (({"r1": GOOD}, {"r2": SO_SO}), False),  # the intervals meet
        (({"r1": POOR}, {"r2": GOOD}), False),
        (({"r1": GOOD}, {"r2": POOR}, {"r2": POOR}), True),  # still by that recipe
        (({"r1": GOOD}, {"r2": POOR}, {"r3": POOR}), False),  # as the one before it
        (({"r1": GOOD}, {"r1": POOR}), False),  # the same recipe, other passages
        (({"r1": GOOD}, {"r1": GOOD, "r2": POOR}), False),  # r1 is still there, beside it
        (({"r1": ("fact", 0.9, 0.85, 0.95)}, {"r2": POOR}), False),  # another kind
        # A source of its own recipe, which was there before, is not worse because another one got better rows.
        (({"own": POOR, "r1": GOOD}, {"own": POOR, "r2": GOOD}), False),
        (({"": GOOD}, {"r2": POOR}), False),  # without an answer there was no recipe
    ],
)
def test_a_recipe_is_compared_with_the_one_before_it(
    snapshots: tuple[dict[str, tuple[str, float, float, float]], ...], is_worse: bool
) -> None:
    found = worse_than_before(history(*snapshots), f"gen-{len(snapshots)}")
    assert found == (["F1 of entity rows is 0.600, and was 0.900 by the recipe before"] if is_worse else [])


def test_scores_by_other_gold_are_not_compared() -> None:
    assert worse_than_before(history({"r1": GOOD}, {"r2": POOR}, gold={2: 120}), "gen-2") == []
    again = history({"r1": GOOD}, {"r1": SO_SO}, {"r2": POOR}, gold={2: 120, 3: 120})
    assert worse_than_before(again, "gen-3") == ["F1 of entity rows is 0.600, and was 0.840 by the recipe before"]


@pytest.mark.parametrize("sequence", [1, 2])
def test_scores_of_few_passages_are_not_compared(sequence: int) -> None:
    rows = history({"r1": GOOD}, {"r2": POOR}).to_pylist()
    few = [one | {"passages": 7 if one["sequence"] == sequence else 30} for one in rows if one["grouping"] == "recipe"]
    every = [one for one in rows if one["grouping"] == "all"]
    assert worse_than_before(pa.Table.from_pylist([*few, *every], EXTRACTION_EVALUATION), "gen-2") == []


def test_scores_become_rows_and_facts() -> None:
    found = score(judged(*outcomes("a", 1, 1, 0)))
    table = as_table(found, 7, "gen-7")
    assert table.schema.equals(EXTRACTION_EVALUATION)
    first = table.to_pylist()[0]
    assert (first["sequence"], first["grouping"], first["right_rows"], first["precision"]) == (7, "all", 1, 0.5)
    assert isinstance(found[0], Score)
    assert found[0].facts()["f1"] == {
        "mean": pytest.approx(2 / 3),
        "low": pytest.approx(2 / 3),
        "high": pytest.approx(2 / 3),
        "questions": 1,
    }
