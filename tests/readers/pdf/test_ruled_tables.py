"""Grids of lines; `test_samples.py` has tables of programs."""

from lightrag_dagster.readers.pdf.ruled_tables import _Edge, _Grid


def test_a_grid_has_a_row_and_a_column_between_two_lines() -> None:
    columns, rows = [0.0, 10.0, 20.0], [0.0, 5.0, 10.0, 15.0]
    grid = _Grid(columns, rows, [_Edge(place, 0.0, 15.0) for place in columns])
    assert grid.shape == (3, 2)
    found = {grid.cell(x, y) for x in range(1, 20, 2) for y in range(1, 15)}
    assert found == {(row, column) for row in range(3) for column in range(2)}
    assert [grid.cell(x, y) for x, y in ((-1, 1), (21, 1), (1, -1), (1, 16))] == [None] * 4
