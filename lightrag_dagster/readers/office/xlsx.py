"""Spreadsheets: the tables of each sheet, with values as they are shown, under the name of the sheet."""

from lightrag_dagster.readers.content import Content, first_few, unread_attachments
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import embedded, open_archive, read_properties
from lightrag_dagster.readers.office.sheets.beside import drawn, put_comments
from lightrag_dagster.readers.office.sheets.cells import read_cells
from lightrag_dagster.readers.office.sheets.tables import to_markdown
from lightrag_dagster.readers.office.sheets.workbook import WORKBOOK, Workbook, related


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the values of every sheet of an .xlsx file, with formulas as last computed.

    Its images are put into `figures`, and follow the tables of their sheet.
    """
    with open_archive(data, WORKBOOK) as archive:
        properties = read_properties(archive, "docProps/core.xml")
        book = Workbook(archive)
        strings = book.shared_strings()
        formats = book.number_formats()
        struck = book.struck_styles()
        texts, without_value = [], list[str]()
        for name, part, hidden in book.sheets():
            sheet = read_cells(archive.read(part), strings, formats, struck)
            without_value += [f"{name}!{place}" for place in sheet.without_value]
            beside = related(archive, part).values()
            put_comments(archive, beside, sheet)
            parts = [*to_markdown(sheet), *filter(None, drawn(archive, beside, figures))]
            title = f"## {' '.join(name.split())}" + " (hidden)" * hidden
            texts.append("\n\n".join([title, *parts]) if parts else "")
        notes = [*_notes(without_value), *unread_attachments(embedded(archive))]
        return Content(texts, properties, note="; ".join(notes) or None)


def _notes(places: list[str]) -> list[str]:
    if not places:
        return []
    few = "1 formula has" if len(places) == 1 else f"{len(places)} formulas have"
    return [f"{few} no stored value ({first_few(places)}); open the file in a spreadsheet program and save it"]
