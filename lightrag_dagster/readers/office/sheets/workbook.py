"""The parts of a workbook: its sheets, shared strings and number formats."""

import posixpath
import zipfile
from collections.abc import Sequence
from typing import NamedTuple

from lxml import etree

from lightrag_dagster.readers.inline import raised
from lightrag_dagster.readers.office.archive import parse_part
from lightrag_dagster.readers.office.sheets.cells import Format, one_line
from lightrag_dagster.readers.office.sheets.number_formats import number_format

WORKBOOK = "xl/workbook.xml"


class RelatedPart(NamedTuple):
    """A part that another one refers to, and what kind of part it is, such as `comments`."""

    kind: str
    part: str


class SheetPart(NamedTuple):
    """A sheet of a workbook: its name, its part of the archive, and whether it is hidden."""

    name: str
    part: str
    hidden: bool


def sheet_parts(archive: zipfile.ZipFile) -> list[SheetPart]:
    """Return the sheets of a workbook in their order."""
    parts = related(archive, WORKBOOK)
    return [
        SheetPart(sheet.get("name", ""), parts[place].part, sheet.get("state", "visible") != "visible")
        for sheet in parse_part(archive, WORKBOOK).iterfind("{*}sheets/{*}sheet")
        if (place := named(sheet, "id")) in parts
    ]


def shared_strings(archive: zipfile.ZipFile) -> list[str]:
    """Return the texts that cells refer to by number."""
    part = _part_of(archive, "sharedStrings")
    return [one_line(text_of(item)) for item in parse_part(archive, part).iterfind("{*}si")] if part else []


def text_of(item: etree._Element) -> str:
    """Return the text of a string with its superscripts, without its reading in another script."""
    if len(item) == 1 and item[0].text and not len(item[0]):
        return str(item[0].text)
    text = ""
    for child in item:
        kind = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if kind == "t":
            text += child.text or ""
        elif kind == "r":
            run = child.findtext("{*}t") or ""
            mark = child.find("{*}rPr/{*}vertAlign")
            text += raised(text, run) if mark is not None and mark.get("val") == "superscript" else run
    return text


def number_formats(archive: zipfile.ZipFile) -> Sequence[Format]:
    """Return the number format of each style of cells; None for plain numbers."""
    part = _part_of(archive, "styles")
    if not part:
        return []
    styles = parse_part(archive, part)
    codes = {one.get("numFmtId"): one.get("formatCode", "") for one in styles.iterfind("{*}numFmts/{*}numFmt")}
    about = parse_part(archive, WORKBOOK).find("{*}workbookPr")
    since_1904 = about is not None and about.get("date1904") in ("1", "true")
    known: dict[str, Format] = {}
    for one in styles.iterfind("{*}cellXfs/{*}xf"):
        number = one.get("numFmtId", "0")
        if number not in known:
            known[number] = number_format(codes.get(number), int(number), since_1904=since_1904)
    return [known[one.get("numFmtId", "0")] for one in styles.iterfind("{*}cellXfs/{*}xf")]


def related(archive: zipfile.ZipFile, part: str) -> dict[str, RelatedPart]:
    """Return the parts that one part of the archive refers to, by the ids that it gives them."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    known = set(archive.namelist())
    if relations not in known:
        return {}
    found = {}
    for one in parse_part(archive, relations).iterfind("{*}Relationship"):
        target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
        if target in known:
            found[one.get("Id", "")] = RelatedPart(one.get("Type", "").rpartition("/")[2], target)
    return found


def named(element: etree._Element, name: str) -> str:
    """Return an attribute in any namespace: strict workbooks have others."""
    return next((str(value) for key, value in element.items() if etree.QName(key).localname == name), "")


def _part_of(archive: zipfile.ZipFile, kind: str) -> str | None:
    return next((one.part for one in related(archive, WORKBOOK).values() if one.kind == kind), None)
