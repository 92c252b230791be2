"""The reading order of shapes on a slide."""

import pytest

from lightrag_dagster.readers.office.slides.order import Box, reading_order

LEFT, RIGHT = 0, 50


# Reported case C1.
@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        ([Box(0, 80, 9, 9), Box(0, 0, 9, 9), Box(0, 40, 9, 9)], [1, 2, 0]),
        ([Box(RIGHT, 0, 40, 9), Box(LEFT, 1, 40, 9)], [1, 0]),
        ([Box(RIGHT, 50, 9, 9), Box(LEFT, 50, 9, 9), Box(RIGHT, 0, 9, 9), Box(LEFT, 0, 9, 9)], [3, 2, 1, 0]),
        # Two columns whose boxes are not in bands: the first column, then the second one.
        (
            [Box(RIGHT, 30, 40, 60), Box(LEFT, 60, 40, 30), Box(RIGHT, 0, 40, 28), Box(LEFT, 0, 40, 58)],
            [3, 1, 2, 0],
        ),
        ([Box(0, 50, 9, 9), None, Box(0, 0, 9, 9)], [2, 1, 0]),
        ([None, None], [0, 1]),
        ([Box(0, 19, 9, 20), Box(0, 0, 9, 20)], [1, 0]),
        ([Box(5, 5, 90, 90), Box(0, 0, 100, 100)], [1, 0]),
        ([], []),
    ],
)
def test_shapes_are_read_in_bands_and_columns(boxes: list[Box | None], order: list[int]) -> None:
    assert reading_order(boxes) == order
