"""Percentile bootstrap (Efron, 1979): how far a mean over questions could lie elsewhere with other such questions."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_RESAMPLES = 10_000
_BLOCK = 1_000
_INTERVAL = (2.5, 97.5)


class Estimate(NamedTuple):
    """A mean with its 95% interval, and over how many questions it was taken. NaN where there were none."""

    mean: float
    low: float
    high: float
    questions: int


def estimates(values: Values) -> list[Estimate]:
    """Return the mean of each column; rows are questions, NaN is a question that has no value there.

    All columns are resampled alike, and the same values give the same interval in every run.
    """
    return _estimates(_means(values), values)


def differences(before: Values, after: Values) -> list[Estimate]:
    """Return, for each column, the mean of `after` less that of `before`, where the questions are others."""
    resampled = _means(after, seed=1) - _means(before)
    found = _estimates(resampled, after)
    return [
        Estimate(_mean(after[:, column]) - _mean(before[:, column]), one.low, one.high, one.questions)
        for column, one in enumerate(found)
    ]


def _estimates(resampled: Values, values: Values) -> list[Estimate]:
    found = []
    for column in range(values.shape[1]):
        means = resampled[:, column]
        known = means[~np.isnan(means)]
        low, high = np.percentile(known, _INTERVAL) if len(known) else (np.nan, np.nan)
        questions = int(np.count_nonzero(~np.isnan(values[:, column])))
        found.append(Estimate(_mean(values[:, column]), float(low), float(high), questions))
    return found


def _means(values: Values, seed: int = 0) -> Values:
    """Return the column means of each resample, shape (resamples, columns)."""
    questions, chance = len(values), np.random.default_rng(seed)
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    blocks = []
    for _ in range(_RESAMPLES // _BLOCK if questions else 0):
        drawn = chance.multinomial(questions, np.full(questions, 1 / questions), size=_BLOCK).astype(np.float64)
        with np.errstate(invalid="ignore"):
            blocks.append((drawn @ filled) / (drawn @ known))
    return np.concatenate(blocks) if blocks else np.full((1, values.shape[1]), np.nan)


def _mean(column: Values) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if len(known) else float("nan")
