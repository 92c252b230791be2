"""Spreadsheets, by calamine: a Markdown table per sheet, under the name of the sheet."""

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time

from lxml import etree
from python_calamine import CalamineWorkbook, PasswordError

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import open_archive, parse_part, read_properties
from lightrag_dagster.readers.plain.tables import markdown_table


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the values of every sheet of an .xlsx file, with formulas as last computed.

    Its images are put into `figures`, and follow the table of their sheet.
    """
    with open_archive(data, "xl/workbook.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        try:
            book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        except PasswordError as error:
            raise UnreadableError("protected by a password; save a copy without it") from error
        images = _images(archive) if figures else {}
        return Content(
            [_sheet(book, name, _marks(archive, images.get(name, []), figures)) for name in book.sheet_names],
            properties,
        )


def _sheet(book: CalamineWorkbook, name: str, marks: Iterable[str]) -> str:
    sheet = book.get_sheet_by_name(name)
    table = markdown_table([_text(cell) for cell in row] for row in sheet.iter_rows())
    parts = [part for part in (table, *marks) if part]
    return "\n\n".join([f"## {' '.join(name.split())}", *parts]) if parts else ""


def _marks(archive: zipfile.ZipFile, images: Sequence[tuple[str, str]], figures: Figures | None) -> Iterator[str]:
    """Yield a placeholder for each image that is not left out; the text of others is often the name of a file."""
    known = set(archive.namelist())
    for part, caption in images:
        if figures and part in known and (name := figures.name_of(archive.read(part))):
            yield mark_of(caption, name)


def _images(archive: zipfile.ZipFile) -> dict[str, list[tuple[str, str]]]:
    """Return for each sheet the images of its drawings: their part of the archive, and their alternative text."""
    workbook, found = "xl/workbook.xml", dict[str, list[tuple[str, str]]]()
    sheets = _related(archive, workbook)
    for sheet in parse_part(archive, workbook).iterfind(".//{*}sheet"):
        drawings = _related(archive, sheets.get(_named(sheet, "id"), "")).values()
        found[sheet.get("name", "")] = [
            one
            for drawing in drawings
            if drawing in archive.namelist() and drawing.endswith(".xml")
            for one in _pictures(archive, drawing)
        ]
    return found


def _pictures(archive: zipfile.ZipFile, drawing: str) -> Iterator[tuple[str, str]]:
    with suppress(etree.XMLSyntaxError):  # the values do not need it
        images = _related(archive, drawing)
        for picture in parse_part(archive, drawing).iterfind(".//{*}pic"):
            about, shown = picture.find(".//{*}cNvPr"), picture.find(".//{*}blip")
            if shown is not None:
                yield images.get(_named(shown, "embed"), ""), about.get("descr", "") if about is not None else ""


def _related(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Return the parts that one part of the archive refers to, by the ids that it gives them."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.namelist():
        return {}
    listed = parse_part(archive, relations).iterfind("{*}Relationship")
    return {
        one.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
        for one in listed
    }


def _named(element: etree._Element, name: str) -> str:
    """Return an attribute in any namespace: strict workbooks have others."""
    return next((str(value) for key, value in element.items() if etree.QName(key).localname == name), "")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    return value.isoformat() if isinstance(value, date | time) else str(value)
