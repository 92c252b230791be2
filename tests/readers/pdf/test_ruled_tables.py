"""Grids of lines; `test_samples.py` has tables of programs."""

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.pdf.ruled_tables import _Edge, _Grid
from tests.readers.pdf.pages import Shown, pdf


def test_a_grid_has_a_row_and_a_column_between_two_lines() -> None:
    columns, rows = [0.0, 10.0, 20.0], [0.0, 5.0, 10.0, 15.0]
    upright, level = ([_Edge(place, 0.0, 20.0) for place in places] for places in (columns, rows))
    grid = _Grid(columns, rows, upright, level)
    assert grid.shape == (3, 2)
    found = {grid.cell(x, y) for x in range(1, 20, 2) for y in range(1, 15)}
    assert found == {(row, column) for row in range(3) for column in range(2)}
    assert [grid.cell(x, y) for x, y in ((-1, 1), (21, 1), (1, -1), (1, 16))] == [None] * 4


def test_a_cell_over_several_rows_is_in_the_first_of_them() -> None:
    names = [Shown(20, 93, "Name"), Shown(110, 105, "Years"), Shown(110, 85, "2023"), Shown(210, 85, "2024")]
    lines = (
        "10 120 m 300 120 l 10 80 m 300 80 l 10 60 m 300 60 l 100 100 m 300 100 l 10 60 m 10 120 l 300 60 m 300 120 l"
    )
    cells = [Shown(20, 65, "A"), Shown(110, 65, "1"), Shown(210, 65, "2")]
    drawn = f"{lines} 100 60 m 100 120 l 200 60 m 200 100 l S"
    assert extract_text(pdf([*names, *cells], drawn=drawn), "a.pdf").text == (
        "| Name | Years |  |\n| --- | --- | --- |\n|  | 2023 | 2024 |\n| A | 1 | 2 |"
    )
