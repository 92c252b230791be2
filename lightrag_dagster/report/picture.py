"""A small picture of the drawing of a page, as SVG."""

import base64

import numpy as np

from lightrag_dagster.report.drawing import Drawing

_WIDTH, _HEIGHT, _MARGIN = 640, 420, 12
_NODES, _EDGES = 600, 900
_NONE = "#8b93a0"


def picture_of(drawing: Drawing) -> str:
    """Return the largest nodes and the strongest edges between them, without text."""
    shown = np.argsort(-drawing.sizes, kind="stable")[:_NODES]
    places = drawing.places[shown]
    low, high = places.min(axis=0, initial=0.0), places.max(axis=0, initial=0.0)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    middle = np.array([_WIDTH, _HEIGHT]) / 2
    # The y axis of a picture points down, that of the page up.
    points = np.round((places - (low + high) / 2) * scale * np.array([1, -1]) + middle, 1)
    edges = drawing.edges.among(shown, len(drawing.places))
    largest = max(float(drawing.sizes.max(initial=0.0)), 1.0)
    parts = [
        f'<path d="M{_pair(points[a])}L{_pair(points[b])}"/>'
        for a, b in zip(edges.sources[:_EDGES].tolist(), edges.targets[:_EDGES].tolist(), strict=True)
    ]
    circles = []
    for (x, y), size, group in zip(
        points.tolist(), drawing.sizes[shown].tolist(), drawing.groups[shown].tolist(), strict=True
    ):
        colour = drawing.colours[group] if group >= 0 else _NONE
        circles.append(f'<circle cx="{x}" cy="{y}" r="{1.5 + 6 * (size / largest) ** 0.5:.1f}" fill="{colour}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
        f'<g stroke="#8b96a5" stroke-opacity="0.35" stroke-width="0.6" fill="none">{"".join(parts)}</g>'
        f"<g>{''.join(circles)}</g></svg>"
    )


def as_markdown(svg: bytes) -> str:
    """Return a picture as Markdown that needs no other file."""
    return f"![The graph](data:image/svg+xml;base64,{base64.b64encode(svg).decode()})"


def _pair(point: "np.typing.NDArray[np.float64]") -> str:
    return f"{point[0]:g} {point[1]:g}"
