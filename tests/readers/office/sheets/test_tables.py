"""The tables among the cells of a worksheet."""

import pytest

from lightrag_dagster.readers.office.sheets.cells import Area, Sheet, area_of
from lightrag_dagster.readers.office.sheets.tables import joined_table, to_markdown

TABLE = "| Task | Owner | Hours |\n| --- | --- | --- |\n| Design | Ana | 5 |"


def sheet(text: str, *joined: str) -> Sheet:
    """Return a sheet of lines with `;` between cells."""
    rows = {
        number: {column: cell for column, cell in enumerate(line.split(";")) if cell}
        for number, line in enumerate(text.split("\n"))
    }
    return Sheet(rows, [area for one in joined if (area := area_of(one))])


# Reported case B5.
@pytest.mark.parametrize(
    ("text", "joined", "expected"),
    [
        ("PROGRESS\n\nTask;;Owner;Hours\nDesign;;Ana;5", (), ["PROGRESS", TABLE]),
        ("PROGRESS\nTask;Owner;Hours\nDesign;Ana;5", (), ["PROGRESS", TABLE]),
        ("PROGRESS\nTask;Owner;Hours\nDesign;Ana;5", ("A1:C1",), ["PROGRESS", TABLE]),
        ("PROGRESS\nof May\n\n\nTask;Owner;Hours\nDesign;Ana;5", (), ["PROGRESS", "of May", TABLE]),
        (";PROGRESS\n\nTask;Owner;Hours\nDesign;Ana;5", (), ["PROGRESS", TABLE]),
        ("Task;Owner;Hours\nDesign;Ana;5\n\nSource: office", (), [TABLE, "Source: office"]),
        ("# of gauges\n\nTask;Owner;Hours\nDesign;Ana;5", (), ["\\# of gauges", TABLE]),
        ("Task\nDesign\n\nReview", (), ["| Task |\n| --- |\n| Design |\n| Review |"]),
        ("Name\nIda;5\nPer;6", (), ["| Name |  |\n| --- | --- |\n| Ida | 5 |\n| Per | 6 |"]),
    ],
)
def test_titles_and_notes_are_paragraphs(text: str, joined: tuple[str, ...], expected: list[str]) -> None:
    assert to_markdown(sheet(text, *joined)) == expected


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("Task;Hours\nDesign;5\n\nGauge;Level\nCorley;0.9", 2),
        ("Task;Hours\nDesign;5\n\nPrices\nGauge;Level\nCorley;0.9", 2),
        ("Task;Hours\nDesign;5\n\n;;;Gauge;Level\n;;;Corley;low", 2),
        ("Task;Hours\nDesign;5\n\nReview;6\n\nPrint;7", 1),
        ("Task;Owner\nDesign;Ana\n\nReview;Ida", 1),
        ("Contacts\nName;Role;City\nAna;Boss;Ulm\n\nSouth\nCara;Clerk;Rome\nDora;Boss;Bern", 1),
        ("Name;Role;;;Note;Reader\nAna;Boss;;;Next band;Zoe\nBo;Clerk;;;None;Max", 1),
        ("Task;Hours\n\nNorth\nDesign;5\n\nSouth\nReview;6", 1),
    ],
)
def test_a_blank_row_ends_a_table_only_above_names(text: str, tables: int) -> None:
    assert sum("| --- |" in part for part in to_markdown(sheet(text))) == tables


# Reported cases B6, B10.
@pytest.mark.parametrize(
    ("text", "joined", "expected"),
    [
        (
            "Dept;Name\nGauging;Ida\n;Per\n;Jo",
            "A2:A4",
            ["Dept | Name", "Gauging | Ida", "Gauging | Per", "Gauging | Jo"],
        ),
        ("Region;Sales;\n;2023;2024\nNorth;1;2", "A1:A2 B1:C1", ["Region | Sales 2023 | Sales 2024", "North | 1 | 2"]),
        ("Region;Sales;\n;2023;2024\nNorth;1;2", "B1:C1", ["Region | Sales 2023 | Sales 2024", "North | 1 | 2"]),
        ("Region;Sales;\nNorth;1;2", "B1:C1", ["Region | Sales | Sales", "North | 1 | 2"]),
        ("A;B;C\nx;both;\ny;1;2", "B2:C2", ["A | B | C", "x | both | both", "y | 1 | 2"]),
        ("Name;;Ida\nTown;;Corley", "A1:B1 A2:B2 C1:D1 C2:D2", ["Name | Ida", "Town | Corley"]),
        ("A;B\nNorth\ny;1", "A2:B2", ["A | B", "North", "y | 1"]),
        ("A;B\nx;1\ny;2", "A2:XFD1048576", ["A | B", "x | 1", "y | 2"]),
    ],
)
def test_joined_cells_are_repeated_where_they_hold(text: str, joined: str, expected: list[str]) -> None:
    (table,) = to_markdown(sheet(text, *joined.split()))
    header, _, *rows = table.split("\n")
    assert [row.strip("| ") for row in (header, *rows)] == expected


def test_bars_in_cells_are_escaped() -> None:
    assert joined_table({0: {0: "a | b", 1: "c"}}, []) == "| a \\| b | c |\n| --- | --- |"


def test_references() -> None:
    assert area_of("B2:AA10") == Area(1, 1, 9, 26)
    assert area_of("XFD1048576") == Area(1048575, 16383, 1048575, 16383)
    assert area_of("Sheet!A1") is None
