"""Percentile bootstrap (Efron, 1979): how much a mean over questions, or passages, would vary with others of them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_RESAMPLES = 10_000
_BLOCK = 1_000
_INTERVAL = (2.5, 97.5)


class Interval(NamedTuple):
    """A mean with its 95% interval, and the number of questions; NaN where there were none."""

    mean: float
    low: float
    high: float
    questions: int

    def facts(self) -> dict[str, float | None]:
        """Return it for JSON, which has no NaN."""
        return {name: None if value != value else value for name, value in self._asdict().items()}


def estimates(values: Values) -> list[Interval]:
    """Return the mean of each column with its interval; rows are questions, NaN is a question without a value.

    All columns are resampled alike, and the same values give the same interval in every run.
    """
    known = (column[~np.isnan(column)] for column in values.T)
    columns = zip(known, resampled_means(values).T, strict=True)
    return [interval(float(one.mean()) if len(one) else np.nan, means, len(one)) for one, means in columns]


def interval(mean: float, resampled: Values, questions: int) -> Interval:
    """Return a mean with the interval of those of its resamples, of which NaN are left out."""
    known = resampled[~np.isnan(resampled)]
    low, high = np.percentile(known, _INTERVAL).tolist() if len(known) else (np.nan, np.nan)
    return Interval(mean, low, high, questions)


def resampled_means(values: Values) -> Values:
    """Return the column means of each resample, shape (resamples, columns)."""
    questions = len(values)
    chance = np.random.default_rng(0)
    known = ~np.isnan(values)
    means = [np.full((1, values.shape[1]), np.nan)]
    for _ in range(_RESAMPLES // _BLOCK if questions else 0):
        drawn = chance.multinomial(questions, np.full(questions, 1 / questions), size=_BLOCK).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means.append((drawn @ np.where(known, values, 0.0)) / (drawn @ known))
    return np.concatenate(means)
