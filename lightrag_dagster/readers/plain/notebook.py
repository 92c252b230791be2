"""Notebooks of Jupyter: their texts, code, and outputs that are text."""

import json
from collections.abc import Iterator
from typing import Any

from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import fenced
from lightrag_dagster.readers.plain.front_matter import split_front_matter


def read(data: bytes) -> Content:
    """Read the cells of a notebook as Markdown; outputs without text, such as diagrams, are counted."""
    text, note = decode(data)
    try:
        book = json.loads(text)
        cells = book["cells"] if "cells" in book else [cell for one in book["worksheets"] for cell in one["cells"]]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        read = "\n\n".join(part for cell in cells for part in _parts(cell))
        other = sum(not any(_said(output)) for output in outputs)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError("not what its suffix says: no notebook; give the file its own suffix") from error
    left_out = f"outputs without text are left out: {other:,}" if other else None
    properties, read = split_front_matter(read)
    return Content(read, properties, note="; ".join(filter(None, (note, left_out))) or None)


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = _joined(cell.get("source") or cell.get("input")).strip()
    if cell["cell_type"] == "heading":
        source = f"{'#' * cell['level']} {source}"
    texts = (text for output in cell.get("outputs", ()) for text in _said(output))
    is_code = cell["cell_type"] == "code"
    yield from filter(None, [fenced(source) if is_code and source else source, *map(fenced, texts)])


def _said(output: dict[str, Any]) -> Iterator[str]:
    """Yield what an output says in text; a picture says its size."""
    said = output.get("data", output)
    if "traceback" in output:
        yield f"{output.get('ename')}: {output.get('evalue')}"
    elif not any(kind.startswith(("image", "png", "jpeg", "svg")) for kind in said):
        yield from filter(None, (_joined(said.get(name)).strip() for name in ("text/plain", "text")))


def _joined(lines: object) -> str:
    return "".join(lines) if isinstance(lines, list) else str(lines or "")
