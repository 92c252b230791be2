import pytest

from lightrag_dagster.core.text.counted import lasting


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 minute"),
        (119, "1 minute"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (172_799, "47 hours"),
        (2e5, "2 days"),
    ],
)
def test_a_time_is_said_in_its_longest_unit(seconds: float, words: str) -> None:
    assert lasting(seconds) == words
