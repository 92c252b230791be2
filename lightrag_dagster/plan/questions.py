"""Questions to a model that a plan found: all of them counted, or a sample of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lightrag_dagster.plan.estimates import DEVIATIONS, Estimate

SAMPLE = 2_000
"""Chunks, and groups of descriptions, that a plan goes through at most; of more, they are a random sample."""

_NONE = Estimate.exactly(0)


class Questions(NamedTuple):
    """Questions without a stored answer and their input tokens: first ones, and those that follow an unknown answer."""

    first: Estimate = _NONE
    first_tokens: Estimate = _NONE
    later: Estimate = _NONE
    later_tokens: Estimate = _NONE

    @classmethod
    def counted(cls, first: Sequence[int], later: Sequence[int]) -> "Questions":
        """Return questions that are all known, given the tokens of each."""
        return cls(*map(Estimate.exactly, (len(first), sum(first), len(later), sum(later))))

    @classmethod
    def sampled(cls, first: Sequence[int], later: Sequence[int], looked_at: int, total: int) -> "Questions":
        """Return questions about all of `total` things, given those that a random sample of these needs."""
        number = scaled([1] * len(first), looked_at, total)
        return cls(
            number._replace(high=min(number.high, total)),
            scaled(first, looked_at, total),
            scaled([1] * len(later), looked_at, total),
            scaled(later, looked_at, total),
        )

    @classmethod
    def total(cls, several: Iterable["Questions"]) -> "Questions":
        """Return the sum; the ends of the ranges are added up."""
        return cls(*map(Estimate.total, zip(cls(), *several, strict=True)))


def scaled(values: Sequence[float], looked_at: int, total: int) -> Estimate:
    """Return the sum over `total` things, given the values of a random sample, where further ones have none."""
    if looked_at >= total:
        return Estimate.exactly(sum(values))
    mean = sum(values) / looked_at
    # One more thing that is unlike all others keeps the range open where these are alike: it has none, or as much.
    unlike = 0.0 if len(values) >= looked_at / 2 else max(values, default=0.0)
    squares = (sum(value * value for value in values) + unlike * unlike) / (looked_at + 1)
    about = (sum(values) + unlike) / (looked_at + 1)
    chance = (max(0.0, squares - about * about) / looked_at * (1 - looked_at / total)) ** 0.5
    distance = DEVIATIONS * chance * total
    return Estimate(mean * total, max(float(sum(values)), mean * total - distance), mean * total + distance)
