import pytest

from lightrag_dagster.core.text.composed import composed, stored_name

APART, TOGETHER = "e\u0301quipe", "\u00e9quipe"
"""One name, as macOS stores it and as people type it."""


def test_accents_are_composed_with_their_letters() -> None:
    assert composed(APART) == composed(TOGETHER) == TOGETHER


@pytest.mark.parametrize(
    ("typed", "stored", "found"),
    [
        (TOGETHER, {APART, "notes"}, APART),
        (APART, {TOGETHER, "notes"}, TOGETHER),
        (TOGETHER, {TOGETHER, APART}, TOGETHER),
        (APART, {TOGETHER, APART}, APART),
        ("notes", {APART, "notes"}, "notes"),
        (TOGETHER, {"equipe"}, TOGETHER),
        (TOGETHER, set(), TOGETHER),
    ],
)
def test_the_stored_name_that_was_typed(typed: str, stored: set[str], found: str) -> None:
    assert stored_name(typed, stored) == found
