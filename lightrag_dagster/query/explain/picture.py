"""A picture of the part of the graph that a retrieval used, as SVG."""

from collections.abc import Sequence
from html import escape

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.types import Retrieval

_MOST = 12
_COLUMN, _LINE, _MARGIN, _LETTERS = 320, 28, 24, 36
_COLOURS = {"entity": "#2f6f4f", "passage": "#7a4a12", "more": "#666"}


def draw(retrieval: Retrieval, graph: Adjacency) -> str:
    """Return an SVG of the first entities and passages of a retrieval, left and right, and of the number of others.

    Lines join entities that a relation of the retrieval joins, and each passage with its entities in `graph`, the graph
    of its snapshot, if that is built.
    """
    entities, chunks = retrieval.entities[:_MOST], retrieval.chunks[:_MOST]
    passages = [f"{one.source}/{one.path}" for one in chunks]
    more = [len(retrieval.entities) - len(entities), len(retrieval.chunks) - len(chunks)]
    rows = max(len(entities), len(passages), 1) + any(more)
    height, width = 2 * _MARGIN + rows * _LINE, 2 * _MARGIN + 2 * _COLUMN
    at = {one.entity_id: _MARGIN + row * _LINE for row, one in enumerate(entities)}
    lines = [
        _curve(_COLUMN - 60, at[one.src_id], at[one.tgt_id])
        for one in retrieval.relations
        if one.src_id in at and one.tgt_id in at and one.src_id != one.tgt_id
    ]
    places = graph.chunks.rows_of([one.chunk_id for one in chunks]).tolist()
    for entity, number in zip(entities, graph.entities.rows_of([one.entity_id for one in entities]), strict=True):
        found_in = set(graph.entity_chunks.of(int(number)).tolist())
        lines += [
            _line(_COLUMN - 56, at[entity.entity_id], _COLUMN + 56, _MARGIN + row * _LINE)
            for row, place in enumerate(places)
            if place in found_in
        ]
    texts = [_text(one.name, _COLUMN - 64, at[one.entity_id], "end", "entity") for one in entities]
    texts += [
        _text(place, _COLUMN + 64, _MARGIN + row * _LINE, "start", "passage") for row, place in enumerate(passages)
    ]
    below = _MARGIN + (rows - 1) * _LINE
    for x, anchor, hidden in ((_COLUMN - 64, "end", more[0]), (_COLUMN + 64, "start", more[1])):
        texts += [_text(f"and {hidden} more", x, below, anchor, "more")] if hidden else []
    title = f"<title>{escape(retrieval.query)} ({escape(retrieval.mode)})</title>"
    return _svg(width, height, [title, *dict.fromkeys(lines), *texts])


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13">'
    )
    return "\n".join([opening, *parts, "</svg>", ""])


def _text(text: str, x: int, y: int, anchor: str, kind: str) -> str:
    short = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
    return f'<text x="{x}" y="{y + 4}" text-anchor="{anchor}" fill="{_COLOURS[kind]}">{escape(short)}</text>'


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    return f'<path d="M{x} {y} L{to_x} {to_y}" stroke="#bbb" fill="none"/>'


def _curve(x: int, y: int, to_y: int) -> str:
    out = x + 20 + abs(to_y - y) // 6
    return f'<path d="M{x} {min(y, to_y)} Q{out} {(y + to_y) // 2} {x} {max(y, to_y)}" stroke="#8ab" fill="none"/>'
