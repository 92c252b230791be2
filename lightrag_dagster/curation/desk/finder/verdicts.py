"""The score of each pair: a sum of all evidence with fixed weights, less what speaks for a rival.

The weights were fitted on halves of three collections of names together and rounded (docs/measurements/names.md); those
of neighbours, relations, types, cosine and common chunks are set by hand, since these collections have no graph, no
chunks and one kind of vector.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightrag_dagster.curation.desk.finder.evidence import Flags, Floats, PairEvidence
from lightrag_dagster.curation.desk.finder.neighbours import Places

LIKELY, UNCLEAR = 0.9, 0.5
"""Least scores of a pair that is likely one, and of one that is unclear."""

_START = -5.3
_FOR = {"likeness^4": 1.4, "beginning^4": 1.6, "agreed": 1.6, "text^4": 2.3, "nearness": 1.0, "neighbours": 2.0}
_DESCRIPTION, _DESCRIPTION_MORE, _MOST_MORE = 2.2, 1.8, 3.0
"""Weights of the bits of descriptions: up to picking one of all, and from there to _MOST_MORE times more."""
_AGAINST = {"most_missing": 1.4, "missing": 1.4, "numbers_differ": 2.8}
_MARKS, _RELATED, _TYPES = 0.8, 1.0, 1.0
_TOGETHER = 2.0

_STRONG, _WEAK = 2.0, -3.0
"""A pair wins or loses the distance to its best rival, for which sums are held between these two."""

_SCALE = 2.0
"""The sum that makes a score of 0.73."""

_SAME_NAME_SAYS = 3.0
"""Bits that equal names and descriptions must say together, in parts of picking one of all: another entity may well
have the same name."""

_ELSE_SAYS = 0.2
"""Bits that descriptions or neighbours of different chunks must say: likeness of names alone makes nothing likely."""

_LEAST_LIKENESS, _LEAST_AGREED = 0.5, 0.3
"""Likeness that names must have, unless one is the acronym of the other: a description alone makes nothing likely."""


class Verdicts(NamedTuple):
    """A score and a verdict a pair, and whether it is shown."""

    score: Floats
    verdict: npt.NDArray[np.str_]
    shown: Flags
    outdone: Flags
    unlikely: Flags


def judge(evidence: PairEvidence) -> Verdicts:
    """Score and judge all pairs; the partners of one entity are rivals."""
    alone = _sum(evidence)
    total = alone + (
        np.minimum(alone, _STRONG) - np.clip(_best_rival(alone, evidence.one, evidence.other), _WEAK, _STRONG)
    )
    score = _logistic(total)
    says = np.maximum(evidence.description_says, evidence.neighbours) * (1 - evidence.together)
    held_back = (says < _ELSE_SAYS) | evidence.marks_differ
    held_back |= (evidence.likeness < _LEAST_LIKENESS) & (evidence.agreed < _LEAST_AGREED) & (evidence.rules & 2 == 0)
    held_back |= evidence.same_name & (evidence.name_says + evidence.description_says < _SAME_NAME_SAYS)
    score = np.where(held_back, np.minimum(score, np.float32(LIKELY - 0.001)), score)
    verdict = np.where(score >= LIKELY, "likely", np.where(score >= UNCLEAR, "unclear", "unlikely"))
    shown = (score >= UNCLEAR) | (evidence.rules & 1 > 0)
    outdone = ~shown & (_logistic(alone) >= UNCLEAR)
    return Verdicts(score, verdict, shown, outdone, ~shown & ~outdone)


def _sum(evidence: PairEvidence) -> Floats:
    total = np.full(len(evidence.one), _START, dtype=np.float32)
    for name, weight in _FOR.items():
        kind, _, power = name.partition("^")
        held = np.minimum(getattr(evidence, kind), 1) ** int(power or 1)
        if kind in ("text", "nearness", "neighbours"):
            held = held * (1 - evidence.together)
        total += np.float32(weight) * held
    total -= np.float32(_TOGETHER) * evidence.together
    said = evidence.description_says * (1 - evidence.together)
    total += _DESCRIPTION * np.minimum(said, 1) + _DESCRIPTION_MORE * np.clip(said - 1, 0, _MOST_MORE)
    for name, weight in _AGAINST.items():
        total -= np.float32(weight) * np.minimum(getattr(evidence, name), 3)
    for differs, weight in (
        (evidence.marks_differ, _MARKS),
        (evidence.related, _RELATED),
        (evidence.types_differ, _TYPES),
    ):
        total -= np.float32(weight) * differs
    return total.astype(np.float32)


def _best_rival(alone: Floats, one: Places, other: Places) -> Floats:
    """Return for each pair the best sum of another pair of one of its entities; -inf without one."""
    places, sums = np.concatenate([one, other]), np.concatenate([alone, alone])
    order = np.lexsort((-sums, places))
    places, sums = places[order], sums[order]
    first = np.ones(len(places), dtype=bool)
    first[1:] = places[1:] != places[:-1]
    second = np.zeros_like(first)
    second[1:] = first[:-1] & ~first[1:]
    best, next_best = (np.full(int(places.max(initial=-1)) + 1, -np.inf, dtype=np.float32) for _ in range(2))
    best[places[first]], next_best[places[second]] = sums[first], sums[second]
    return np.maximum(*[np.where(alone >= best[of], next_best[of], best[of]) for of in (one, other)])


def _logistic(total: npt.NDArray[np.floating]) -> Floats:
    return (1 / (1 + np.exp(-total.astype(np.float64) / _SCALE))).astype(np.float32)
