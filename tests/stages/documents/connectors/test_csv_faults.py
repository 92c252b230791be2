"""Faults of CSV files, as they are told and as a source of rows tells them."""

from pathlib import Path

import pytest

from lightrag_dagster.stages.documents.connectors.csv_faults import require_even
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.connectors.tables import TableFiles

FINE = {
    "empty": b"",
    "header alone": b"id,name\n",
    "quotes": b'id;name\n1;"a; ""b""\nc"\n\n2;d\n',
    "bom": b"\xef\xbb\xbfid\tname\r\n1\tb\r\n",
    "one column": b"text\na, b\nc\n",
}
FAULTS = {
    "missing": (b"id,name,role\n1,Ann\n2,Bo,Cook\n", "line 2 has 2 columns and the first line 3; correct it, or"),
    "too many": (b"id;name\n1;Ann;x\n2;Bo\n", "line 2 has 3 columns and the first line 2; .* with ';' between quotes"),
    "total": (b"id,name,role\n1,Ann,Cook\n2,Bo,Mate\nTotal: 2\n", "line 4 has 1 columns and the first line 3"),
    "late": (b"id,name\n" + b"1,Ann\n" * 30_000 + b"Total\n", "line 30002 has 1 columns and the first line 2"),
    "a wide last line": (
        b"id,title,body\n" + b"1,Mill,It burned down.\n" * 20 + b"2,Weir,Low, and dry.\n",
        "line 22 has 4 columns and the first line 3; .* with ',' between quotes",
    ),
    "a wide line alone": (b"id,title\n1,Mill,Low\n", "line 2 has 3 columns and the first line 2"),
    "a wide last line beside dates": (
        b"id,seen\n" + b"".join(b"%d,2024-01-0%d\n" % (day, day) for day in range(1, 9)) + b"9,2024-01-09,x\n",
        "line 10 has 3 columns and the first line 2",
    ),
    "a wide last line under a title": (
        b"The people of 2024\n\nid,name\n" + b"1,Ann\n" * 20 + b"T999,Bo,Cook\n",
        "line 24 has 3 columns and line 3 2; correct it",
    ),
    "latin-1": (b"id,name\n1,Ann\n2,Ren\xe9\n", "line 3 is not UTF-8; save the file in that encoding"),
}


@pytest.mark.parametrize("content", FINE.values(), ids=FINE)
def test_a_file_without_faults(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    require_even(path)


@pytest.mark.parametrize(("content", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_its_line(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(OSError, match=fault):
        require_even(path, below_title=content.startswith(b"The"))


@pytest.mark.parametrize(("content", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_source_of_rows_tells_it(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(OSError, match=rf"people\.csv: {fault}") as raised:
        list(TableFiles(path, Patterns((), ())).rows())
    assert "Auto-Detected" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"id;name\n1;Ann\n", [{"id": "1", "name": "Ann"}]),
        (b"2023,2024\n1,2\n", [{"2023": "1", "2024": "2"}]),
        (b"id,name,\n1,Ann,\n", [{"id": "1", "name": "Ann", "column2": None}]),
        (b"id,name\n1,'Ann, or Bo'\n", [{"id": "1", "name": "Ann, or Bo"}]),
        (b"The people of 2024\n\nid,name\n1,Ann\n2,Bo\n", [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Bo"}]),
        (b"id,name\n", []),
        (b"The people of 2024\n\nid,name\n", []),
    ],
    ids=[
        "semicolons",
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
    path.write_bytes(FINE["one column"])
    assert list(TableFiles(path, Patterns((), ())).rows()) == [{"text": "a, b"}, {"text": "c"}]
