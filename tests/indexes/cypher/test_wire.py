"""Values pass unchanged, and nothing else passes."""

import math
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.indexes.cypher import wire

VALUES = [
    None,
    True,
    -(2**70),
    0.1,
    math.inf,
    "",
    "日本 \u2028 \x00 \"'\\",
    b"",
    b"\x00\xff",
    date(1, 1, 1),
    date(9999, 12, 31),
    datetime(2020, 1, 2, 3, 4, 5, 123456),
    datetime(2020, 1, 2, tzinfo=UTC),
    datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    timedelta(days=-3, microseconds=1),
    timedelta.max,
    Decimal("-1.250"),
    Decimal(2) ** 127,
    UUID(int=1),
    [],
    [[None], [b"x"]],
    {},
    {"a": {"b": [date(2020, 1, 1)]}},
    {"": 1},
    {"": ["date", "2020-01-01"]},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_passes_unchanged(value: object) -> None:
    found = wire.loads(wire.dumps(value))
    assert found == value
    assert type(found) is type(value)


def test_keys_of_a_map_pass_unchanged() -> None:
    value = {1: "a", None: 3, date(2020, 1, 1): {"": {"": 1}}, 2.5: [], "b": b"x"}
    assert wire.loads(wire.dumps(value)) == value


def test_a_subclass_passes_as_what_it_is() -> None:
    class Kind(StrEnum):
        PERSON = "person"

    class Moment(datetime):
        pass

    found = wire.loads(wire.dumps([Kind.PERSON, np.float64(0.1), Moment(2020, 1, 2), {Kind.PERSON: True}]))
    assert found == ["person", 0.1, datetime(2020, 1, 2), {"person": True}]
    assert [type(value) for value in found] == [str, float, datetime, dict]


def test_no_number_passes_unchanged() -> None:
    assert math.isnan(wire.loads(wire.dumps(math.nan)))


plain = st.none() | st.booleans() | st.integers(-(2**127), 2**127) | st.text() | st.binary() | st.dates() | st.uuids()
nested = st.recursive(
    plain, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=8
)


@given(nested)
def test_any_value_passes_unchanged(value: object) -> None:
    assert wire.loads(wire.dumps(value)) == value


@pytest.mark.parametrize("value", [{1, 2}, object(), 1j, [lambda: None]])
def test_what_cypher_does_not_have_is_named(value: object) -> None:
    with pytest.raises(TypeError, match="is not a type of Cypher"):
        wire.dumps(value)


@pytest.mark.parametrize("value", ["\ud800", 10**5000], ids=["a surrogate", "a number of 5000 digits"])
def test_what_cannot_be_written_is_an_error(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (its text is Python's)
        wire.dumps(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        pickle.dumps(print),
        b'{"": 1}',
        b'{"": ["date"]}',
        b'{"": ["date", "yesterday"]}',
        b'{"": ["date", [1]]}',
        b'{"": ["decimal", "x"]}',
        b'{"": ["eval", "1"]}',
        b'{"": ["map", [[[], 1]]]}',
        b'{"": ["map", 1]}',
        b'{"": ["duration", [1e300, 0, 0]]}',
        b'{"": [[], 1]}',
        b"[" * 100_000,
        b"1" * 5000,
    ],
    ids=lambda data: repr(data[:20]),
)
@pytest.mark.usefixtures("uncollected")
def test_what_nobody_wrote_is_an_error_and_runs_nothing(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (its text is Python's)
        wire.loads(data)
