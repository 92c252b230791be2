"""Spreadsheets, by calamine: a Markdown table a sheet, under the name of the sheet."""

import io
from datetime import date, datetime, time

from python_calamine import CalamineWorkbook, PasswordError

from lightrag_dagster.stages.documents.formats.archive import open_archive, read_properties
from lightrag_dagster.stages.documents.formats.content import Content, UnreadableError
from lightrag_dagster.stages.documents.formats.tables import markdown_table


def read(data: bytes) -> Content:
    """Read the values of every sheet of an .xlsx file, those of formulas as they were last computed."""
    with open_archive(data, "xl/workbook.xml") as archive:
        properties = read_properties(archive, "docProps/core.xml")
        try:
            book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        except PasswordError as error:
            raise UnreadableError("protected by a password; save a copy without it") from error
        return Content([_sheet(book, name) for name in book.sheet_names], properties)


def _sheet(book: CalamineWorkbook, name: str) -> str:
    sheet = book.get_sheet_by_name(name)
    table = markdown_table([_text(cell) for cell in row] for row in sheet.iter_rows())
    return f"## {' '.join(name.split())}\n\n{table}" if table else ""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    return value.isoformat() if isinstance(value, date | time) else str(value)
