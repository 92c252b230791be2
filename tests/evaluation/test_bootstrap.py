import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lightrag_dagster.evaluation.bootstrap import estimates


def test_an_interval_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(5).normal(size=(400, 1))
    (one,) = estimates(values)
    error = values.std() / np.sqrt(400)
    assert one.low == pytest.approx(one.mean - 1.96 * error, abs=0.1 * error)
    assert one.high == pytest.approx(one.mean + 1.96 * error, abs=0.1 * error)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(6).random((20, 2))
    assert estimates(values) == estimates(values.copy())


def test_questions_without_a_value_do_not_count() -> None:
    full, gaps = estimates(np.array([[1.0, 1.0], [0.0, np.nan], [1.0, np.nan], [0.0, np.nan]]))
    assert (full.mean, full.questions) == (0.5, 4)
    assert (gaps.mean, gaps.low, gaps.high, gaps.questions) == (1, 1, 1, 1)


def test_no_value_at_all_is_nan() -> None:
    for values in (np.full((3, 1), np.nan), np.zeros((0, 1))):
        (one,) = estimates(values)
        assert np.isnan([one.mean, one.low, one.high]).all()
        assert one.questions == 0


@given(arrays(np.float64, (7, 1), elements=st.floats(0, 1)))
@settings(max_examples=20, deadline=None)
def test_the_mean_lies_within_the_range_and_the_interval_within_the_values(values: np.ndarray) -> None:
    (one,) = estimates(values)
    tiny = 1e-9
    assert values.min() - tiny <= one.low <= one.high <= values.max() + tiny
    assert values.min() - tiny <= one.mean <= values.max() + tiny
