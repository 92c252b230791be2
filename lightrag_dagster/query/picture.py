"""A picture of the part of the graph that a retrieval used, as SVG."""

from collections.abc import Sequence
from html import escape

from lightrag_dagster.query.types import Retrieval

_MOST = 12
_COLUMN, _LINE, _MARGIN, _LETTERS = 320, 28, 24, 36
_COLOURS = {"entity": "#2f6f4f", "passage": "#7a4a12"}


def draw(retrieval: Retrieval) -> str:
    """Return an SVG of the first entities and passages of a retrieval, on the left and on the right.

    Lines join entities that a relation of the retrieval joins, and each passage with the entities it names.
    """
    entities = [one.name for one in retrieval.entities[:_MOST]]
    passages = [(f"{one.source}/{one.path}", one.content.casefold()) for one in retrieval.chunks[:_MOST]]
    rows = max(len(entities), len(passages), 1)
    height, width = 2 * _MARGIN + rows * _LINE, 2 * _MARGIN + 2 * _COLUMN
    at = {name: _MARGIN + row * _LINE for row, name in enumerate(entities)}
    lines = [
        _curve(_COLUMN - 60, at[one.src], at[one.tgt])
        for one in retrieval.relations
        if one.src in at and one.tgt in at and one.src != one.tgt
    ]
    for row, (_, content) in enumerate(passages):
        y = _MARGIN + row * _LINE
        lines += [_line(_COLUMN - 56, at[name], _COLUMN + 56, y) for name in entities if name.casefold() in content]
    texts = [_text(name, _COLUMN - 64, at[name], "end", "entity") for name in entities]
    texts += [
        _text(place, _COLUMN + 64, _MARGIN + row * _LINE, "start", "passage") for row, (place, _) in enumerate(passages)
    ]
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
