"""Workbooks: values as they are shown, tables among them, and what stands beside them."""

import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.office.workbooks import by_hand, written


def text_of(data: bytes) -> str:
    found = extract_text(data, "a.xlsx")
    assert found.losses is not None
    assert found.losses.lost == 0, found.losses
    return found.text.removeprefix("## Levels\n\n")


def sheet(rows: list[list[object]], *joined: str) -> Callable[[Any, Any], None]:
    """Return a writer of rows, None for an empty cell, and of joined cells."""

    def write(book: Any, page: Any) -> None:
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                if value is not None:
                    page.write(number, column, value)
        for area in joined:
            page.merge_range(area, "")
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                if value is not None:
                    page.write(number, column, value)

    return write


# Reported cases B1, B1b.
def test_values_are_shown_by_the_formats_of_their_cells() -> None:
    def write(book: Any, page: Any) -> None:
        for column, (value, code) in enumerate(
            [(0.155, "0.0%"), (1234.5, "€#,##0.00"), (5, "00000"), (45352, "mmm yyyy")]
        ):
            page.write(0, column, f"Name {'abcd'[column]}")
            page.write(1, column, value, book.add_format({"num_format": code}))
        page.write(2, 0, True)
        page.write(2, 1, 0.1 + 0.2)

    assert text_of(written(write)) == (
        "| Name a | Name b | Name c | Name d |\n| --- | --- | --- | --- |\n"
        "| 15.5% | €1,234.50 | 00005 | Mar 2024 |\n| TRUE | 0.3 |"
    )


CELLS = '<c r="A1" t="s"><v>0</v></c><c r="B1"><v>3</v></c>'


@pytest.mark.parametrize(
    "row",
    [
        f'<row r="1">{CELLS}</row>',
        f'<row spans="1:2" r="1">{CELLS}</row>',
        '<row r="1"><c t="s" r="A1"><v>0</v></c><c r="B1" t="n"><v>3</v></c></row>',
        '<row><c t="s"><v>0</v></c><c><v>3</v></c></row>',
        '<row r="1"><c r="A1" t="inlineStr"><is><r><t>Wei</t></r><r><t>r</t></r></is></c><c r="B1"><v>3</v></c></row>',
        '<row r="1"><c r="A1" t="str"><f>"We"&amp;"ir"</f><v>Weir</v></c><c r="B1"><v> 3.0 </v></c></row>',
    ],
)
def test_cells_as_programs_write_them(row: str) -> None:
    strings = '<si><t>Weir</t><rPh sb="0" eb="1"><t>reading</t></rPh></si>'
    assert (
        text_of(by_hand(f"<worksheet><sheetData>{row}</sheetData></worksheet>", strings))
        == "| Weir | 3 |\n| --- | --- |"
    )


def test_names_of_elements_may_have_a_prefix() -> None:
    row = (
        f'<x:row r="1">{CELLS}</x:row>'.replace("<c", "<x:c")
        .replace("</c", "</x:c")
        .replace("v>", "x:v>")
        .replace("</x:v", "</x:v")
    )
    row = row.replace("<x:x:", "<x:").replace("</x:x:", "</x:")
    space = 'xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    data = by_hand(f"<x:worksheet {space}><x:sheetData>{row}</x:sheetData></x:worksheet>", "<si><t>Weir</t></si>")
    assert text_of(data) == "| Weir | 3 |\n| --- | --- |"


# Reported case B2.
@pytest.mark.parametrize(
    ("cell", "text", "note"),
    [
        (
            "<c r='B1'><f>SUM(1,2)</f><v></v></c>",
            "| Total | =SUM(1,2) |",
            "1 formula has no stored value (Levels!B1); ",
        ),
        ('<c r="B1"><f>A1&amp;"x"</f></c>', '| Total | =A1&"x" |', "1 formula has no stored value (Levels!B1); "),
        ('<c r="B1"><f t="shared" si="0"/><v/></c>', "| Total | = |", "1 formula has no stored value (Levels!B1); "),
        ('<c r="B1" t="str"><f>IF(1,"")</f><v></v></c>', "| Total |", ""),
        ('<c r="B1"><f>SUM(1,2)</f><v>3</v></c>', "| Total | 3 |", ""),
    ],
)
def test_formulas_without_a_stored_value_are_named(cell: str, text: str, note: str) -> None:
    row = f'<row r="1"><c r="A1" t="s"><v>0</v></c>{cell}</row>'
    found = extract_text(
        by_hand(f"<worksheet><sheetData>{row}</sheetData></worksheet>", "<si><t>Total</t></si>"), "a.xlsx"
    )
    assert found.text.split("\n")[2] == text
    assert (found.note or "").startswith(note)
    assert bool(found.note) == bool(note)


# Reported cases B4, B9.
@pytest.mark.parametrize(
    "place",
    [
        pytest.param("XFD1048576", marks=pytest.mark.long),
        pytest.param("AZ1048576", marks=pytest.mark.long),
        "XFD1",
        pytest.param("A1048576", marks=pytest.mark.long),
    ],
)
def test_cells_far_away_need_no_room(place: str) -> None:
    def write(book: Any, page: Any) -> None:
        page.write("A1", "Gauge")
        page.write(place, "stray")

    assert len(text_of(written(write))) < 60


def test_a_row_without_a_number_follows_the_row_before_it() -> None:
    rows = '<row r="3"><c r="A3"><v>1</v></c></row><row><c><v>2</v></c></row>'
    more = '<row r="8"><c r="A8"><v>3</v></c></row><row spans="1:1" r="9"><c><v>4</v></c></row>'
    sheet = f"<worksheet><sheetData><row><c><v>0</v></c></row>{rows}<row><c><v>2.5</v></c></row>{more}</sheetData>"
    found = extract_text(by_hand(f"{sheet}</worksheet>"), "a.xlsx").text
    assert re.findall("[0-9.]+", found) == ["0", "1", "2", "2.5", "3", "4"]


def test_empty_columns_and_rows_take_no_room() -> None:
    rows: list[list[object]] = [["Task", None, "Owner"], [], [], ["Design", None, "Ana"]]
    assert text_of(written(sheet(rows))) == "| Task | Owner |\n| --- | --- |\n| Design | Ana |"


# Reported case B3.
@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (("B2", "Measured by hand, sensor broken"), "| Kessing | 3.2 (comment: Measured by hand, sensor broken) |"),
        (("A2", "Old\nname"), "| Kessing (comment: Old name) | 3.2 |"),
        (("C2", "Ask Ida"), "| Kessing | 3.2 | (comment: Ask Ida) |"),
    ],
)
def test_comments_stand_in_their_cells(comment: tuple[str, str], expected: str) -> None:
    def write(book: Any, page: Any) -> None:
        sheet([["Gauge", "Level"], ["Kessing", 3.2]])(book, page)
        page.write_comment(*comment)

    assert text_of(written(write)).split("\n")[2] == expected


def test_text_boxes_and_titles_of_charts_follow_the_table() -> None:
    def write(book: Any, page: Any) -> None:
        page.write_row(0, 0, ["Gauge", 3])
        page.insert_textbox("D2", "Valid until May\nIda Wren")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Levels!$B$1:$B$1", "name": "Corley"})
        chart.set_y_axis({"name": "metres"})
        chart.set_title({"name": "Levels in spring"})
        page.insert_chart("D9", chart)

    assert text_of(written(write)).split("\n\n")[1:] == [
        "Levels in spring",
        "metres",
        "Corley",
        "Valid until May\nIda Wren",
    ]


@pytest.mark.parametrize(("said", "mark"), [("1", " (hidden)"), ("true", " (hidden)"), ("0", "")])
def test_hidden_text_boxes_and_charts_are_marked(said: str, mark: str) -> None:
    def write(book: Any, page: Any) -> None:
        page.write_row(0, 0, ["Gauge", 3])
        page.insert_textbox("D2", "Ida Wren")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Levels!$B$1:$B$1", "name": "Corley"})
        page.insert_chart("D9", chart)

    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written(write))) as book, zipfile.ZipFile(data, "w") as copy:
        for name in book.namelist():
            copy.writestr(name, book.read(name).replace(b"<xdr:cNvPr ", f'<xdr:cNvPr hidden="{said}" '.encode()))
    assert text_of(data.getvalue()).split("\n\n")[1:] == [f"Corley{mark}", f"Ida Wren{mark}"]


def test_raised_numbers_of_a_cell() -> None:
    def write(book: Any, page: Any) -> None:
        up = book.add_format({"font_script": 1})
        page.write_rich_string("A1", "Area in m", up, "2", ", flow in 10", up, "6", " l of 500", up, "1)", " net")

    assert text_of(written(write)) == "| Area in m², flow in 10^6 l of 500^1) net |\n| --- |"


def test_struck_text_is_marked() -> None:
    def write(book: Any, page: Any) -> None:
        out, money = (
            book.add_format({"font_strikeout": True}),
            book.add_format({"font_strikeout": 1, "num_format": "0.00"}),
        )
        page.write_rich_string("A1", "Pay ", out, "500 ", "400")
        page.write_row("A2", ["Old", 7, 3], out)
        page.write_row("A3", ["New", 8])
        page.write("B4", 5, money)
        page.write_formula("C4", "=B4+1", out, 6)
        page.write_rich_string("C5", "In ", out, "part", out)
        page.write("A6", "", out)

    assert text_of(written(write)) == (
        "| Pay ~~500~~ 400 |  |  |\n| --- | --- | --- |\n| ~~Old~~ | ~~7~~ | ~~3~~ |\n| New | 8 |\n"
        "|  | ~~5.00~~ | ~~6~~ |\n|  |  | In ~~part~~ |"
    )


def test_what_is_hidden_is_marked() -> None:
    def write(book: Any, page: Any) -> None:
        sheet([["Gauge", "Code", "Level"], ["Kessing", "k1", 3.2], ["Corley", "c2", 0.97]])(book, page)
        page.set_row(2, None, None, {"hidden": True})
        page.set_column("B:B", None, None, {"hidden": True})
        other = book.add_worksheet("Old")
        other.write("A1", "Weir")
        other.hide()

    assert text_of(written(write)) == (
        "| Gauge | Code (hidden) | Level |  |\n| --- | --- | --- | --- |\n| Kessing | k1 | 3.2 |\n"
        "| Corley | c2 | 0.97 | (hidden) |\n\n## Old (hidden)\n\n| Weir |\n| --- |"
    )


def threaded(author: str, copy: str, *, has_thread: bool = True) -> bytes:
    """Return a workbook with a comment, and the copy of it that programs read which do not know threads."""
    kinds = {"comments": "comments1", "threadedComment": "threadedComments/threadedComment1"}
    related = "".join(
        f'<Relationship Id="{kind}" Type="x/{kind}" Target="../{part}.xml"/>'
        for kind, part in kinds.items()
        if has_thread or kind == "comments"
    )
    comment = f'<comment ref="A2" authorId="1"><text><t>{copy}</t></text></comment>'
    own = '<comment ref="B2" authorId="0"><text><t>Of Ida</t></text></comment>'
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": f"<Relationships>{related}</Relationships>",
        "xl/comments1.xml": f"<comments><authors><author>Ida</author><author>{author}</author></authors>"
        f"<commentList>{comment}{own}</commentList></comments>",
    }
    if has_thread:
        thread = '<threadedComment ref="A2"><text>Sensor broken</text></threadedComment>'
        parts["xl/threadedComments/threadedComment1.xml"] = f"<ThreadedComments>{thread}</ThreadedComments>"
    cells = "".join(f'<c r="{at}" t="inlineStr"><is><t>{at}</t></is></c>' for at in ("A1", "B1"))
    rows = f'<row r="1">{cells}</row><row r="2">{cells.replace("1", "2")}</row>'
    return by_hand(f"<worksheet><sheetData>{rows}</sheetData></worksheet>", **parts)


@pytest.mark.parametrize("copy", ["[Threaded comment] Comment: Sensor broken", "[Kommentarthread] Kommentar: Sensor"])
def test_of_a_thread_and_its_copy_one_is_read(copy: str) -> None:
    row = text_of(threaded("tc={0A1B}", copy)).split("\n")[2]
    assert row == "| A2 (comment: Sensor broken) | B2 (comment: Of Ida) |"
    row = text_of(threaded("tc={0A1B}", copy, has_thread=False)).split("\n")[2]
    assert row == f"| A2 (comment: {copy}) | B2 (comment: Of Ida) |"
