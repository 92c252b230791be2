"""Rows of CSV files, and their faults as a source tells them."""

from pathlib import Path

import pytest

from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.connectors.tables import TableFiles

FAULTS = {
    "missing": (b"id,name,role\n1,Ann\n2,Bo,Cook\n", 1),
    "too many": (b"id;name\n1;Ann;x\n2;Bo\n", 1),
    "total": (b"id,name,role\n1,Ann,Cook\n2,Bo,Mate\nTotal: 2\n", 1),
    "late": (b"id,name\n" + b"1,Ann\n" * 30_000 + b"Total\n", 1),
    "a wide last line": (b"id,title,body\n" + b"1,Mill,It burned down.\n" * 20 + b"2,Weir,Low, and dry.\n", 1),
    "a wide line alone": (b"id,title\n1,Mill,Low\n", 1),
    "a wide last line beside dates": (
        b"id,seen\n" + b"".join(b"%d,2024-01-0%d\n" % (day, day) for day in range(1, 9)) + b"9,2024-01-09,x\n",
        1,
    ),
    "a wide last line under a title": (
        b"The people of 2024\n\nid,name\n" + b"1,Ann\n" * 20 + b"T999,Bo,Cook\n",
        3,
    ),
    "latin-1": (b"id,name\n1,Ann\n2,Ren\xe9\n", 1),
}
"""A file → the line that has its names."""


@pytest.mark.parametrize(("content", "line"), FAULTS.values(), ids=FAULTS)
def test_a_file_with_uneven_lines_is_refused(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    fault = rf"people\.csv: a line has more or fewer columns than line {line}, or is not UTF-8; .* between quotes"
    with pytest.raises(OSError, match=fault) as raised:
        list(TableFiles(path, Patterns((), ())).rows())
    assert not any(hint in str(raised.value) for hint in ("Auto-Detected", "Possible", "/dev/fd"))


def test_the_number_of_a_late_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(FAULTS["late"][0])
    with pytest.raises(OSError, match="CSV Error on Line: 30002 Original Line: Total Expected Number of Columns: 2 F"):
        list(TableFiles(path, Patterns((), ())).rows())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"id;name\n1;Ann\n", [{"id": "1", "name": "Ann"}]),
        (b'id;name\n1;"a; ""b""\nc"\n\n2;d\n', [{"id": "1", "name": 'a; "b"\nc'}, {"id": "2", "name": "d"}]),
        (b"\xef\xbb\xbfid\tname\r\n1\tb\r\n", [{"id": "1", "name": "b"}]),
        (b"2023,2024\n1,2\n", [{"2023": "1", "2024": "2"}]),
        (b"id,name,\n1,Ann,\n", [{"id": "1", "name": "Ann", "column2": None}]),
        (b"id,name\n1,'Ann, or Bo'\n", [{"id": "1", "name": "Ann, or Bo"}]),
        (b"The people of 2024\n\nid,name\n1,Ann\n2,Bo\n", [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Bo"}]),
        (b"id,name\n", []),
        (b"The people of 2024\n\nid,name\n", []),
    ],
    ids=[
        "semicolons",
        "quotes",
        "a mark of UTF-8",
        "names that are numbers",
        "a comma at each end",
        "other quotes",
        "a title above",
        "no rows",
        "none under a title",
    ],
)
def test_names_are_those_of_the_first_line_that_has_several(
    tmp_path: Path, content: bytes, rows: list[dict[str, str | None]]
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    assert list(TableFiles(path, Patterns((), ())).rows()) == rows


def test_one_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(b"text\na, b\nc\n")
    assert list(TableFiles(path, Patterns((), ())).rows()) == [{"text": "a, b"}, {"text": "c"}]
