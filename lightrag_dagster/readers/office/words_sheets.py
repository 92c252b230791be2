"""All text of workbooks, apart from their reader; of numbers only those without a format, shown as they are stored."""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part
from lightrag_dagster.readers.office.sheets.workbook import comments_of

_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_BESIDE = re.compile(r"xl/(?:comments|threadedComments|drawings)(?:/[^/]+|\d+)\.xml")
# Both begin with what is rare in a worksheet, for speed.
_SHARED = re.compile(rb't="s"[^>]*>\s*<(?:\w+:)?v>\s*(\d+)')
_PLAIN = re.compile(rb'<c r="[A-Z]+\d+"(?: t="n")?><v>(\d{1,15}|[\d.+-]{1,11})</')


def xlsx(data: bytes) -> Iterator[str]:
    """Yield the texts of cells, comments and text boxes, and the plain numbers of a workbook."""
    with open_archive(data, "xl/workbook.xml") as archive:
        used = Counter[int]()
        for name in filter(_SHEET.fullmatch, archive.namelist()):
            part = archive.read(name)
            used.update(map(int, _SHARED.findall(part)))
            yield b" ".join(_PLAIN.findall(part)).decode()
            if b"inlineStr" in part or b't="str"' in part:
                yield from _inline(archive, name)
        yield from _shared(archive, used)
        for name in filter(_BESIDE.fullmatch, archive.namelist()):
            yield from _beside(archive, name)


def _shared(archive: zipfile.ZipFile, used: Counter[int]) -> Iterator[str]:
    if used:
        strings = list(parse_part(archive, "xl/sharedStrings.xml").iterfind("{*}si"))
        yield " ".join(f"{_text(strings[place], 't')} " * times for place, times in used.items())


def _inline(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    for cell in parse_part(archive, name).iter("{*}c"):
        if cell.get("t") in ("inlineStr", "str"):
            yield _text(cell, "t", "v")


def _beside(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    part = parse_part(archive, name)
    for element in (*comments_of(part), *part.iter("{*}threadedComment", "{*}txBody")):
        yield _text(element, "t", "text")


def _text(element: etree._Element, *names: str) -> str:
    """Return the text of elements with a name, without the readings of characters, paragraphs apart."""
    if len(element) == 1 and not len(element[0]):
        return element[0].text or ""
    texts = []
    for one in element.iter(*(f"{{*}}{name}" for name in names), "{*}p"):
        around = one.getparent()
        if around.tag.endswith("}rPh"):
            continue
        text = " " if one.tag.endswith("}p") else one.text or ""
        # A raised number is one of its own.
        texts.append(f" {text}" if text[:1].isdecimal() and around.find("{*}rPr/{*}vertAlign") is not None else text)
    return "".join(texts)
