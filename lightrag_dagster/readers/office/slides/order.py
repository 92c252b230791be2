"""The order in which people read the shapes of a slide; the file has the order in which they are drawn."""

from collections.abc import Sequence
from typing import NamedTuple

_OVERLAP = 0.1  # of its height or width, by which a box may reach into the next one


class Box(NamedTuple):
    """The place of a shape."""

    left: int
    top: int
    width: int
    height: int


def reading_order(boxes: Sequence[Box | None]) -> list[int]:
    """Return the numbers of shapes in reading order: in bands from top to bottom, in each from left to right.

    A shape without a place of its own, such as the points that a layout places, keeps its number.
    """
    placed = [number for number, box in enumerate(boxes) if box is not None]
    order = iter(_sorted({number: box for number, box in enumerate(boxes) if box is not None}))
    numbers = list(range(len(boxes)))
    for number in placed:
        numbers[number] = next(order)
    return numbers


def _sorted(boxes: dict[int, Box]) -> list[int]:
    if len(boxes) < 2:
        return list(boxes)
    for start, size in ((1, 3), (0, 2)):  # bands, then columns
        groups = _groups(boxes, start, size)
        if len(groups) > 1:
            return [number for group in groups for number in _sorted(group)]
    return sorted(boxes, key=lambda number: (boxes[number].top, boxes[number].left))


def _groups(boxes: dict[int, Box], start: int, size: int) -> list[dict[int, Box]]:
    """Return the boxes in groups that are apart in one direction."""
    groups: list[dict[int, Box]] = []
    end = 0.0
    for number in sorted(boxes, key=lambda number: boxes[number][start]):
        box = boxes[number]
        margin = _OVERLAP * box[size]
        if not groups or box[start] + margin >= end:
            groups.append({})
        groups[-1][number] = box
        end = max(end, box[start] + box[size] - margin) if len(groups[-1]) > 1 else box[start] + box[size] - margin
    return groups
