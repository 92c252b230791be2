"""Notebooks of Jupyter: their texts, code, and outputs that are text."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from lightrag_dagster.core.text.markdown import closed
from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import fenced
from lightrag_dagster.readers.plain.front_matter import split_front_matter
from lightrag_dagster.readers.plain.markdown import in_line
from lightrag_dagster.readers.plain.text import plain

_NO_NOTEBOOK = "not what its suffix says: no notebook; give the file its own suffix"
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
_WRITTEN_OVER = re.compile(r"[^\n]*\r(?=[^\r\n])")
"""The states of a progress bar before its last, which a terminal shows in one line."""

_OBJECT = re.compile(r"<[\w.]+ (?:object|[^<>]*\bat 0x[\da-f]+)>")
"""The plain text of what has another form, such as a page or Markdown, or none."""


def read(data: bytes) -> Content:
    """Read the cells of a notebook as Markdown; outputs without text, such as diagrams, are counted."""
    text, note = decode(data)
    try:
        book = json.loads(text)
        sheets = [book] if "cells" in book else book["worksheets"]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
    except _MALFORMED as error:
        raise UnreadableError(_NO_NOTEBOOK) from error
    texts, other, damaged = list[str](), 0, 0
    for cell in cells:
        try:
            found = [list(_said(output)) for output in cell.get("outputs", ())]
            texts += [text for text in (_source(cell), *chain(*found)) if text]
            other += found.count([])
        except _MALFORMED:
            damaged += 1
    if damaged and damaged == len(cells):
        raise UnreadableError(_NO_NOTEBOOK)
    left_out = [f"outputs without text are left out: {other:,}"] * bool(other)
    left_out += [f"cells of another shape are left out: {damaged:,}"] * bool(damaged)
    properties, read = split_front_matter("\n\n".join(map(closed, texts)))
    return Content(read, properties, note="; ".join(filter(None, (note, *left_out))) or None)


def _source(cell: dict[str, Any]) -> str:
    source = _joined(cell.get("source") or cell.get("input")).strip()
    if cell["cell_type"] == "code":
        return source and fenced(source)
    return f"{'#' * cell['level']} {in_line(source)}" if cell["cell_type"] == "heading" else in_line(source)


def _said(output: dict[str, Any]) -> Iterator[str]:
    """Yield what an output says: its plain text, else Markdown, a page or LaTeX; a picture says its size."""
    said = output.get("data", output)
    if "traceback" in output:
        yield fenced(f"{output.get('ename')}: {output.get('evalue')}")
    elif not any(kind.startswith(("image", "png", "jpeg", "svg")) for kind in said):
        texts = [
            _WRITTEN_OVER.sub("", plain(_joined(said.get(name)))).strip("\n").rstrip()
            for name in ("text/plain", "text")
        ]
        texts = [text for text in texts if text and not _OBJECT.fullmatch(text)]
        if texts:
            yield from map(fenced, texts)
        elif markdown := _joined(said.get("text/markdown")).strip():
            yield in_line(markdown)
        elif page := _joined(said.get("text/html")).strip():
            from lightrag_dagster.readers.html import page as html_page  # slow to import

            yield str(html_page.read(page.encode("utf-8", "replace")).text)
        elif formula := _joined(said.get("text/latex")).strip():
            yield formula


def _joined(lines: object) -> str:
    return "".join(lines) if isinstance(lines, list) else str(lines or "")
