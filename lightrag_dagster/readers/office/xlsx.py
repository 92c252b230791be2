"""Spreadsheets: the tables of each sheet, with values as they are shown, under the name of the sheet."""

import zipfile

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import open_archive, read_properties
from lightrag_dagster.readers.office.sheets.beside import drawn, put_comments
from lightrag_dagster.readers.office.sheets.cells import Sheet, read_cells
from lightrag_dagster.readers.office.sheets.tables import to_markdown
from lightrag_dagster.readers.office.sheets.workbook import WORKBOOK, number_formats, shared_strings, sheet_parts

_MOST_NAMED = 5  # cells in a note


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the values of every sheet of an .xlsx file, with formulas as last computed.

    Its images are put into `figures`, and follow the tables of their sheet.
    """
    with open_archive(data, WORKBOOK) as archive:
        properties = read_properties(archive, "docProps/core.xml")
        strings, formats = shared_strings(archive), number_formats(archive)
        texts, without_value = [], list[str]()
        for name, part, hidden in sheet_parts(archive):
            sheet = read_cells(archive.read(part), strings, formats)
            without_value += [f"{name}!{place}" for place in sheet.without_value]
            put_comments(archive, part, sheet)
            texts.append(_sheet(archive, f"{name} (hidden)" if hidden else name, part, sheet, figures))
        return Content(texts, properties, note=_note(without_value))


def _sheet(archive: zipfile.ZipFile, name: str, part: str, sheet: Sheet, figures: Figures | None) -> str:
    parts = [*to_markdown(sheet), *filter(None, drawn(archive, part, figures))]
    return "\n\n".join([f"## {' '.join(name.split())}", *parts]) if parts else ""


def _note(places: list[str]) -> str | None:
    if not places:
        return None
    named = ", ".join(places[:_MOST_NAMED]) + ", …" * (len(places) > _MOST_NAMED)
    few = "1 formula has" if len(places) == 1 else f"{len(places)} formulas have"
    return f"{few} no stored value ({named}); open the file in a spreadsheet program and save it"
