"""Workbooks of the tests, by XlsxWriter, and by hand for what it does not write."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

import xlsxwriter

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def written(write: Callable[[Any, Any], object], *, since_1904: bool = False) -> bytes:
    """Return a workbook with the sheet `Levels`, which `write` fills; it takes the workbook and the sheet."""
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, {"in_memory": True, "default_date_format": "yyyy-mm-dd"}) as book:
        book.use_1904_dates = since_1904
        write(book, book.add_worksheet("Levels"))
    return target.getvalue()


def by_hand(sheet: str, strings: str = "", **parts: str) -> bytes:
    """Return a workbook with the sheet `Levels`, whose XML and shared strings are given, and other parts by name."""
    kinds = {"worksheet": "worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml"}
    related = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(kinds.items())
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        listed = '<sheets><sheet name="Levels" sheetId="1" r:id="r0"/></sheets>'
        archive.writestr("xl/workbook.xml", f'<workbook {_MAIN} xmlns:r="{_RELATIONS}">{listed}</workbook>')
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{related}</Relationships>")
        archive.writestr("xl/worksheets/sheet1.xml", sheet.replace("<worksheet>", f"<worksheet {_MAIN}>"))
        archive.writestr("xl/sharedStrings.xml", f"<sst {_MAIN}>{strings}</sst>")
        for name, text in parts.items():
            archive.writestr(name, text)
    return target.getvalue()


def too_large() -> bytes:
    """Return a workbook that needs more memory than a parser has: 3,000 cells with the same text of a megabyte."""
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(1, 3001))
    return by_hand(f"<worksheet><sheetData>{rows}</sheetData></worksheet>", f"<si><t>{'weir ' * 200_000}</t></si>")
