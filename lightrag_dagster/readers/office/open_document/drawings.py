"""Drawings in an OpenDocument text: text boxes, images, formulas, charts and fields of forms."""

import posixpath
import zipfile
from collections.abc import Callable, Mapping
from html import escape
from typing import NamedTuple

from lxml import etree

from lightrag_dagster.readers.office.archive import parse_part
from lightrag_dagster.readers.office.formulas import as_text
from lightrag_dagster.readers.office.open_document.names import DRAW, LINK, SVG, kind_of

_FORMULA = "{http://www.w3.org/1998/Math/MathML}math"
_CHART = "{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}"
_CHECK_BOX = '<input type="checkbox"%s> '


class Drawn(NamedTuple):
    """HTML of a drawing: its part in the line, and the blocks that follow the paragraph."""

    inline: str = ""
    blocks: str = ""


class Drawings:
    """A reader of drawings, by the archive of a document and the values of its form fields."""

    def __init__(self, archive: zipfile.ZipFile, fields: Mapping[str, str]) -> None:
        self._archive, self._fields = archive, fields
        self._known = set(archive.namelist())

    def read(self, element: etree._Element, blocks: Callable[[etree._Element], str]) -> Drawn | None:
        """Return a drawing, whose texts `blocks` writes; None for another element."""
        kind = kind_of(element)
        if kind == "content-control" and _said(element, "checkbox") == "true":
            return Drawn(_CHECK_BOX % (" checked" if _said(element, "checked") == "true" else ""))
        if not str(element.tag).startswith(DRAW) or kind == "a":
            return None
        if kind == "control":
            return Drawn(self._fields.get(element.get(f"{DRAW}control") or "", ""))
        if kind == "frame":
            return self._frame(element, blocks)
        return Drawn(blocks=blocks(element))

    def _frame(self, frame: etree._Element, blocks: Callable[[etree._Element], str]) -> Drawn:
        """Return the first form of what a frame has that can be read; the others are pictures of it."""
        for child in frame:
            kind = kind_of(child)
            if kind in ("text-box", "table"):
                return Drawn(blocks=blocks(child))
            if kind == "object" and (drawn := self._object(child, blocks)):
                return drawn
            if kind == "image":
                said = (frame.findtext(f"{SVG}{name}") for name in ("title", "desc"))
                caption = next(filter(None, said), "")
                place = posixpath.normpath(child.get(LINK) or "")
                return Drawn(f'<img src="{escape(place)}" alt="{escape(caption)}">', blocks(child))
        return Drawn()

    def _object(self, element: etree._Element, blocks: Callable[[etree._Element], str]) -> Drawn | None:
        """Return a formula or a chart, which may be in a part of its own."""
        part = posixpath.normpath(f"{element.get(LINK)}/content.xml")
        root = parse_part(self._archive, part) if part in self._known else element
        formula = next(root.iter(_FORMULA), None)
        if formula is not None:
            return Drawn(escape(as_text(formula)))
        chart = next(root.iter(f"{_CHART}chart"), None)
        return Drawn(blocks=blocks(chart)) if chart is not None else None


def _said(element: etree._Element, name: str) -> str:
    """Return an attribute in any namespace, as LibreOffice has its own for what is not yet in the standard."""
    return next((str(value) for key, value in element.items() if etree.QName(key).localname == name), "")
