"""Tables of Word: joined cells, tables in cells."""

import pytest

from tests.readers.office.word.documents import cell, paragraph, read, table

OVER, DOWN, GOES_ON = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
ROW = "".join(map(cell, "123"))


# Reported case A1.
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [
                cell("Span two", OVER) + cell("C"),
                cell("Tall", DOWN) + cell("x1") + cell("y1"),
                cell("", GOES_ON) + cell("x2") + cell("y2"),
            ],
            ["Span two | Span two | C", "Tall | x1 | y1", "Tall | x2 | y2"],
        ),
        (
            ["".join(map(cell, "ABC")), cell("Block", OVER + DOWN) + cell("y1"), cell("", OVER + GOES_ON) + cell("y2")],
            ["A | B | C", "Block | Block | y1", "Block | Block | y2"],
        ),
        (
            [
                cell("Region", DOWN) + cell("Sales", OVER),
                cell("", GOES_ON) + cell("2023") + cell("2024"),
                cell("North") + cell("1") + cell("2"),
            ],
            ["Region | Sales 2023 | Sales 2024", "North | 1 | 2"],
        ),
        (["".join(map(cell, "ABC")), f"<w:trPr><w:gridBefore w:val='1'/></w:trPr>{ROW[len(cell('1')):]}"],
         ["A | B | C", " | 2 | 3"]),
        # as older programs join cells
        ([cell("Span", '<w:hMerge w:val="restart"/>') + cell("", "<w:hMerge/>") + cell("C"), ROW],
         ["Span | Span | C", "1 | 2 | 3"]),
        ([cell("Span", '<w:hMerge w:val="restart"/>') + 2 * cell("", '<w:hMerge w:val="continue"/>') + cell("D"),
          ROW + cell("4")], ["Span | Span | Span | D", "1 | 2 | 3 | 4"]),
        ([cell("", "<w:hMerge/>") + cell("B", "<w:hMerge/>") + cell("C"), ROW], [" | B | C", "1 | 2 | 3"]),
    ],
)  # fmt: skip
def test_values_of_joined_cells_are_repeated(rows: list[str], expected: list[str]) -> None:
    header, _, *others = read(table(*rows)).text.split("\n")
    assert [one.removeprefix("| ").removesuffix(" |") for one in (header, *others)] == expected


DATA = table(cell("k") + cell("v"), cell("1") + cell("2"))
DEEP = cell("Department of Gauges")
for _ in range(3):
    DEEP = cell(table(DEEP) + paragraph(""))


# Reported case A2.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (table(DEEP), "Department of Gauges"),
        (table(DEEP + cell("c1")), "Department of Gauges\n\nc1"),
        (table(cell("A") + cell("B"), cell(paragraph("Intro") + DATA) + cell("y")),
         "| A | B |\n| --- | --- |\n| Intro k; v / 1; 2 | y |"),
        (table(cell(paragraph("Left") + paragraph("more")) + cell(DATA + "<w:p/>")),
         "Left\n\nmore\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"),
        (table(cell(paragraph("Box") + DATA)), "Box\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"),
    ],
)  # fmt: skip
def test_tables_in_cells_can_be_read(body: str, expected: str) -> None:
    assert read(body).text == expected
