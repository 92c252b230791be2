"""The parts of a workbook: its sheets, shared strings and number formats."""

import zipfile
from collections.abc import Sequence
from typing import NamedTuple

from lxml import etree

from lightrag_dagster.readers.inline import raised, struck, write_struck
from lightrag_dagster.readers.office.archive import RelatedPart, by_kind, parse_part, relations
from lightrag_dagster.readers.office.sheets.cells import Format, one_line
from lightrag_dagster.readers.office.sheets.number_formats import number_format

WORKBOOK = "xl/workbook.xml"


class SheetPart(NamedTuple):
    """A sheet of a workbook: its name, its part of the archive, and whether it is hidden."""

    name: str
    part: str
    hidden: bool


class Workbook:
    """A workbook in its archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._parts = related(archive, WORKBOOK)
        self._part_of = by_kind(self._parts)
        self._about = parse_part(archive, WORKBOOK)
        styles = self._part_of.get("styles")
        self._styles = parse_part(archive, styles) if styles else etree.Element("styleSheet")

    def sheets(self) -> list[SheetPart]:
        """Return the sheets in their order."""
        return [
            SheetPart(sheet.get("name", ""), self._parts[place].part, sheet.get("state", "visible") != "visible")
            for sheet in self._about.iterfind("{*}sheets/{*}sheet")
            if (place := named(sheet, "id")) in self._parts
        ]

    def shared_strings(self) -> list[str]:
        """Return the texts that cells refer to by number."""
        part = self._part_of.get("sharedStrings")
        return [one_line(text_of(item)) for item in parse_part(self._archive, part).iterfind("{*}si")] if part else []

    def struck_styles(self) -> set[str]:
        """Return the styles of cells whose text is struck out, by their numbers as cells name them."""
        fonts = [_is_struck(one) for one in self._styles.iterfind("{*}fonts/{*}font")]
        looks = (int(one.get("fontId", "0")) for one in self._styles.iterfind("{*}cellXfs/{*}xf"))
        return {str(number) for number, font in enumerate(looks) if font < len(fonts) and fonts[font]}

    def number_formats(self) -> Sequence[Format]:
        """Return the number format of each style of cells; None for plain numbers."""
        codes = {
            one.get("numFmtId"): one.get("formatCode", "") for one in self._styles.iterfind("{*}numFmts/{*}numFmt")
        }
        about = self._about.find("{*}workbookPr")
        since_1904 = about is not None and about.get("date1904") in ("1", "true")
        numbers = [one.get("numFmtId", "0") for one in self._styles.iterfind("{*}cellXfs/{*}xf")]
        known = {one: number_format(codes.get(one), int(one), since_1904=since_1904) for one in dict.fromkeys(numbers)}
        return [known[one] for one in numbers]


def text_of(item: etree._Element) -> str:
    """Return the text of a string with its superscripts, without its reading in another script."""
    if len(item) == 1 and (text := (only := item[0]).text) and not len(only):
        return str(text)
    text = ""
    for child in item:
        kind = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if kind == "t":
            text += child.text or ""
        elif kind == "r":
            run = child.findtext("{*}t") or ""
            mark = child.find("{*}rPr/{*}vertAlign")
            run = struck(run) if _is_struck(child.find("{*}rPr")) else run
            text += raised(text, run) if mark is not None and mark.get("val") == "superscript" else run
    return write_struck(text)


def _is_struck(font: etree._Element | None) -> bool:
    found = font.find("{*}strike") if font is not None else None
    return found is not None and found.get("val", "1") in ("1", "true")


def comments_of(part: etree._Element, *, copies: bool = False) -> list[etree._Element]:
    """Return the comments of a part; those of threads too, which are copies for older programs, if `copies`."""
    authors = enumerate(part.iterfind("{*}authors/{*}author"))
    threads = {str(number) for number, one in authors if (one.text or "").startswith("tc={") and not copies}
    return [one for one in part.iterfind("{*}commentList/{*}comment") if one.get("authorId") not in threads]


def related(archive: zipfile.ZipFile, part: str) -> dict[str, RelatedPart]:
    """Return the parts of the archive that one of them refers to, by the ids that it gives them."""
    return {place: one for place, one in relations(archive, part).items() if one.part in archive.NameToInfo}


def named(element: etree._Element, name: str) -> str:
    """Return an attribute in any namespace: strict workbooks have others."""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")
