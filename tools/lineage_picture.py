"""docs/images/column-lineage.svg, made from the column lineage that the assets report; `make docs` writes it."""

import sys
from collections.abc import Iterator
from itertools import accumulate, pairwise
from math import fsum
from typing import NamedTuple

from lightrag_dagster.assets.column_lineage import LINEAGE

LAYERS = (
    ("raw_documents",),
    ("chunks",),
    ("chunk_vectors", "extractions", "readings"),
    ("entity_mentions", "parsed", "relation_mentions", "read_facts", "facts"),
    ("entity_evidence", "entities", "relations", "relation_evidence", "merged_facts", "fact_evidence"),
    ("entity_vectors", "relation_vectors", "communities"),
    ("duplicate_candidates",),
)
"""The tables from left to right; each is made from those left of it."""

_COLOURS = (
    "#888888 #0b6e4f #b5179e #1d4ed8 #b45309 #c2410c #7a7a00 #6d28d9 #64748b #0891b2 "
    "#be123c #0369a1 #15803d #9a5b00 #7c3aed #0e7490 #0f766e #a21caf #334155 #dc2626"
)
_ROW, _WIDTH, _BETWEEN, _LANE, _MARGIN = 17, 176, 100, 56, 16

Edge = tuple[str, str]
"""The column that another is made from, and the other, each `table.column`."""


class Box(NamedTuple):
    """A table: where it is, and its columns from top to bottom."""

    layer: int
    top: float
    columns: tuple[str, ...]
    colour: str

    @property
    def left(self) -> float:
        return _MARGIN + self.layer * (_WIDTH + _BETWEEN)

    @property
    def bottom(self) -> float:
        return self.top + _ROW * (len(self.columns) + 1.7)

    def row(self, column: str) -> float:
        """Return the middle of a column's row."""
        return self.top + _ROW * (self.columns.index(column) + 2)


def picture() -> str:
    """Return the drawing."""
    edges = [
        (origin, f"{table}.{column}") for table, row in LINEAGE.items() for column in row for origin in row[column]
    ]
    boxes = _boxes(edges)
    width = max(box.left for box in boxes.values()) + _WIDTH + _MARGIN
    height = max(box.bottom for box in boxes.values()) + _LANE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" '
            'font-size="13">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *_curves(edges, boxes),
            *(line for table, box in boxes.items() for line in _table(table, box)),
            "</svg>\n",
        ]
    )


def _boxes(edges: list[Edge]) -> dict[str, Box]:
    """Return the place of each table: a layer is centred, with lanes above, below and between its tables."""
    columns = {table: dict.fromkeys(row) for table, row in LINEAGE.items()}
    for table, column in (origin.split(".") for origin, _ in edges):
        columns.setdefault(table, {})[column] = None
    colours = iter(_COLOURS.split())
    heights = [[_ROW * (len(columns[table]) + 1.7) + _LANE for table in layer] for layer in LAYERS]
    tallest = max(map(fsum, heights))  # `sum` of floats differs between versions of Python
    boxes = {}
    for number, (layer, each) in enumerate(zip(LAYERS, heights, strict=True)):
        tops = accumulate(each, initial=(tallest - fsum(each)) / 2 + _LANE)
        for table, top in zip(layer, tops, strict=False):
            boxes[table] = Box(number, top, tuple(columns[table]), next(colours))
    return boxes


def _curves(edges: list[Edge], boxes: dict[str, Box]) -> Iterator[str]:
    """Yield the edges in the colour of their target; one that passes a layer takes a lane between its tables."""
    lanes = _lanes(edges, boxes)
    for origin, target in edges:
        (first, column), (last, made) = origin.split("."), target.split(".")
        start, end = boxes[first], boxes[last]
        stops = [(start.left + _WIDTH, start.row(column))]
        for layer in range(start.layer + 1, end.layer):
            left, y = _MARGIN + layer * (_WIDTH + _BETWEEN), lanes[layer, origin, last]
            stops += [(left, y), (left + _WIDTH, y)]
        stops.append((end.left, end.row(made)))
        bends = " ".join(
            f"C {(a + x) / 2:.0f} {b:.1f} {(a + x) / 2:.0f} {y:.1f} {x:.0f} {y:.1f}"
            for (a, b), (x, y) in pairwise(stops)
        )
        way = f'd="M {stops[0][0]:.0f} {stops[0][1]:.1f} {bends}" fill="none" stroke="{end.colour}"'
        yield f'<path {way} stroke-opacity=".8"><title>{target} from {origin}</title></path>'


def _lanes(edges: list[Edge], boxes: dict[str, Box]) -> dict[tuple[int, str, str], float]:
    """Return layer, origin and target table → the height at which such edges pass the layer."""
    passing: dict[tuple[int, float], dict[tuple[str, str], None]] = {}
    for origin, target in edges:
        (first, column), (last, made) = origin.split("."), target.split(".")
        start, end = boxes[first], boxes[last]
        for layer in range(start.layer + 1, end.layer):
            share = (layer - start.layer) / (end.layer - start.layer)
            wish = start.row(column) * (1 - share) + end.row(made) * share
            tables = [boxes[table] for table in LAYERS[layer]]
            middles = [tables[0].top - _LANE / 2, *(box.bottom + _LANE / 2 for box in tables)]
            middle = min(middles, key=lambda y: abs(y - wish))
            passing.setdefault((layer, middle), {})[origin, last] = None
    return {
        (layer, *one): middle + (number + 1 - (len(ones) + 1) / 2) * min(6, _LANE / (len(ones) + 1))
        for (layer, middle), ones in passing.items()
        for number, one in enumerate(ones)
    }


def _table(name: str, box: Box) -> Iterator[str]:
    """Yield a table: its name on its colour, and a row a column."""
    place = f'x="{box.left}" y="{box.top:.1f}" width="{_WIDTH}" rx="4"'
    yield f'<rect {place} height="{box.bottom - box.top:.1f}" fill="#fff" stroke="{box.colour}" stroke-width="1.5"/>'
    yield f'<rect {place} height="{_ROW * 1.3:.1f}" fill="{box.colour}"/>'
    yield f'<text x="{box.left + 8}" y="{box.top + _ROW * 0.95:.1f}" fill="#fff" font-weight="bold">{name}</text>'
    for column in box.columns:
        yield f'<text x="{box.left + 8}" y="{box.row(column) + 4:.1f}" fill="#222">{column}</text>'


if __name__ == "__main__":
    sys.stdout.write(picture())
