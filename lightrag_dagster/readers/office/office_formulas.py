"""Formulas of Word, PowerPoint and OpenDocument files, put into the text, since the reading libraries drop them.

python-pptx drops the whole text box with them.
"""

import posixpath
import re
import zipfile
from collections.abc import Callable

from lxml import etree

from lightrag_dagster.readers.office.archive import parse_part, with_parts
from lightrag_dagster.readers.office.formulas import OMML, as_text

_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_IN_POWERPOINT = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_OPEN_DOCUMENT = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_FORMULA, _WITH_OTHERS = f"{{{OMML}}}oMath", f"{{{OMML}}}oMathPara"


def in_office(archive: zipfile.ZipFile, data: bytes, parts: str) -> bytes:
    """Return a Word or PowerPoint file with its formulas as runs of text.

    Args:
        archive: The file.
        data: Its bytes, which are returned if it has no formula.
        parts: A regular expression of the names of the parts that may have some.
    """
    names = filter(re.compile(parts).fullmatch, archive.namelist())
    return _changed(archive, data, [name for name in names if b"oMath" in archive.read(name)], write_runs)


def in_open_document(archive: zipfile.ZipFile, data: bytes) -> bytes:
    """Return an OpenDocument text with its formulas as text; the bytes if it has none."""

    def write_spans(root: etree._Element) -> None:
        for shown in list(root.iter(f"{_OPEN_DOCUMENT % 'drawing'}object")):
            part = posixpath.normpath(f"{shown.get('{http://www.w3.org/1999/xlink}href')}/content.xml")
            frame = shown.getparent()
            if part in archive.namelist() and frame is not None and b"<math" in archive.read(part):
                span = etree.Element(f"{_OPEN_DOCUMENT % 'text'}span")
                span.text, span.tail = as_text(parse_part(archive, part)), frame.tail
                frame.getparent().replace(frame, span)

    has_objects = b"draw:object" in archive.read("content.xml")
    return _changed(archive, data, ["content.xml"] if has_objects else [], write_spans)


def _changed(
    archive: zipfile.ZipFile, data: bytes, names: list[str], change: Callable[[etree._Element], None]
) -> bytes:
    parts = {}
    for name in names:
        root = parse_part(archive, name)
        change(root)
        parts[name] = etree.tostring(root, encoding="UTF-8")
    return with_parts(archive, parts) if parts else data


def write_runs(root: etree._Element) -> None:
    """Replace the formulas of a part by runs of text."""
    for alternatives in list(root.iter(f"{_ALTERNATIVES}AlternateContent")):
        chosen = alternatives.find(f"{_ALTERNATIVES}Choice")
        if chosen is not None and next(chosen.iter(_FORMULA), None) is not None:
            for child in chosen:
                alternatives.addprevious(child)
            alternatives.getparent().remove(alternatives)
    for shown in dict.fromkeys(map(_outermost, list(root.iter(_FORMULA)))):
        paragraph = next(shown.iterancestors("{*}p"), shown.getparent())
        space = etree.QName(paragraph).namespace
        run = etree.Element(f"{{{space}}}r")
        text = etree.SubElement(run, f"{{{space}}}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
        text.text = " ".join(filter(None, map(as_text, shown.iter(_FORMULA))))
        shown.getparent().replace(shown, run)


def _outermost(formula: etree._Element) -> etree._Element:
    """Return the outermost element that contains only a formula, or only formulas."""
    return [formula, *formula.iterancestors(_WITH_OTHERS, _IN_POWERPOINT)][-1]
