"""Precision, recall and F1 of what was extracted, with intervals, by recipe, model, source and type."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.evaluation.bootstrap import Interval, Values, interval, resampled_means
from lightrag_dagster.schemas import EXTRACTION_EVALUATION

_OF_PASSAGES = ("grouping", "value", "kind", "passages")
MEASURES = ("precision", "recall", "f1")
_OUTCOMES = ("right", "wrong", "missed")
LEAST_PASSAGES = 8
"""Over fewer, an interval is narrow by itself, and over one it is a point: nothing is called worse by it."""
_EVERY = "all"
"""The kind of all rows together, and the group of all passages."""


class Score(NamedTuple):
    """The numbers of rows of a kind in a group of passages by their outcomes, and what follows from them.

    Precision is the share of extracted rows that are right, recall that of gold rows that were extracted, and F1 their
    harmonic mean; each is NaN where it has no rows.
    """

    grouping: str
    value: str
    kind: str
    passages: int
    right: int
    wrong: int
    missed: int
    precision: Interval
    recall: Interval
    f1: Interval

    def facts(self) -> dict[str, Any]:
        """Return it for JSON."""
        return self._asdict() | {name: getattr(self, name).facts() for name in MEASURES}


def score(judged: pa.Table) -> list[Score]:
    """Return the scores of all passages, and of each group; the type is that of entities.

    Args:
        judged: rows of `judge`.
    """
    found = list(_of_group(judged, _EVERY, _EVERY))
    for grouping in ("recipe", "model", "source", "type"):
        of_entities = (pc.field("kind") == "entity") & pc.field("type").is_valid()
        rows = judged.filter(of_entities) if grouping == "type" else judged
        for value in sorted(pc.unique(rows[grouping]).to_pylist()):
            found += _of_group(rows.filter(pc.equal(rows[grouping], value)), grouping, value)
    return found


def below(scores: Sequence[Score], bound: float | None) -> list[Score]:
    """Return the scores of all passages whose F1 is below a bound, if there is one."""
    return [one for one in scores if one.grouping == _EVERY and bound is not None and one.f1.mean < bound]


def as_table(scores: Sequence[Score], sequence: int, snapshot_id: str) -> pa.Table:
    """Return scores as EXTRACTION_EVALUATION."""
    rows = []
    for one in scores:
        row = {"sequence": sequence, "snapshot_id": snapshot_id} | {name: getattr(one, name) for name in _OF_PASSAGES}
        row |= {f"{outcome}_rows": getattr(one, outcome) for outcome in _OUTCOMES}
        for name, measure in zip(MEASURES, (one.precision, one.recall, one.f1), strict=True):
            row |= {name: measure.mean, f"{name}_low": measure.low, f"{name}_high": measure.high}
        rows.append(row)
    return pa.Table.from_pylist(rows, EXTRACTION_EVALUATION)


def worse_than_before(history: pa.Table, snapshot_id: str) -> list[str]:
    """Return a sentence for each kind of rows that a recipe of a snapshot makes worse than the recipe before.

    It is worse if the interval of its F1 lies wholly below that of the last recipe before it that the snapshot has no
    row of. Nothing is compared over few passages, nor with a snapshot that was measured by other numbers of them or of
    gold rows.

    Args:
        history: EXTRACTION_EVALUATION of several snapshots.
        snapshot_id: the snapshot to judge.
    """
    rows = history.sort_by("sequence").to_pylist()
    of_all = [one for one in rows if one["grouping"] == _EVERY]
    gold = {(one["sequence"], one["kind"]): (one["passages"], one["right_rows"] + one["missed_rows"]) for one in of_all}
    by_recipe = [one for one in rows if one["grouping"] == "recipe"]
    now = [one for one in by_recipe if one["snapshot_id"] == snapshot_id]
    recipes, found = {one["value"] for one in now}, []
    for one in now:
        alike = [row for row in by_recipe if row["kind"] == one["kind"] and row["value"]]  # without one: no answer
        first = next((row["sequence"] for row in alike if row["value"] == one["value"]), 0)
        size = gold[one["sequence"], one["kind"]]
        others = [row for row in alike if row["value"] not in recipes and row["sequence"] < first]
        before = [row for row in others if gold[row["sequence"], row["kind"]] == size]
        is_enough = before and min(one["passages"], before[-1]["passages"]) >= LEAST_PASSAGES
        if is_enough and one["f1_high"] < before[-1]["f1_low"]:
            was = before[-1]["f1"]
            found.append(f"F1 of {one['kind']} rows is {one['f1']:.3f}, and was {was:.3f} by the recipe before")
    return found


def compare(before: pa.Table, after: pa.Table) -> Interval:
    """Return the difference of F1 over all rows of the passages that two extractions have, passage by passage.

    Args:
        before: rows of `judge`.
        after: the same of another extraction.
    """
    keys = ["chunk", "kind"]  # one that only one of them was answered about is left out
    sides = [
        one.join(other.select(keys), keys, join_type="left semi") for one, other in ((before, after), (after, before))
    ]
    (chunks, old), (_, new) = map(_counts, sides)
    pairs = np.concatenate([old, new], axis=1)
    f1 = [
        _measures(each[:, 3:])[:, 2] - _measures(each[:, :3])[:, 2]
        for each in (pairs.sum(axis=0, keepdims=True), resampled_means(pairs))
    ]
    return interval(float(f1[0][0]), f1[1], len(chunks))


def _of_group(rows: pa.Table, grouping: str, value: str) -> Iterator[Score]:
    kinds = sorted(pc.unique(rows["kind"]).to_pylist())
    for kind in [_EVERY, *kinds] if len(kinds) > 1 else kinds:
        chunks, counts = _counts(rows if kind == _EVERY else rows.filter(pc.equal(rows["kind"], kind)))
        if chunks:
            sums = counts.sum(axis=0)
            points, resampled = _measures(sums[None])[0], _measures(resampled_means(counts))
            measures = [interval(float(one), each, len(chunks)) for one, each in zip(points, resampled.T, strict=True)]
            right, wrong, missed = map(int, sums)
            yield Score(grouping, value, kind, len(chunks), right, wrong, missed, *measures)


def _counts(rows: pa.Table) -> tuple[list[str], Values]:
    """Return the passages, and their numbers of right, wrong and missed rows, shape (passages, 3)."""
    chunks, places = np.unique(rows["chunk"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(chunks), len(_OUTCOMES) + 1))  # the last of rows without outcome
    outcomes = pc.index_in(rows["outcome"], pa.array(_OUTCOMES)).fill_null(len(_OUTCOMES)).to_numpy()
    np.add.at(counts, (places, outcomes), 1)
    return chunks.tolist(), counts[:, :-1]


def _measures(counts: Values) -> Values:
    """Return precision, recall and F1 of numbers of rows, shape (…, 3) both."""
    right, wrong, missed = counts.T
    with np.errstate(invalid="ignore"):
        return np.stack(
            [right / (right + wrong), right / (right + missed), 2 * right / (2 * right + wrong + missed)], 1
        )
