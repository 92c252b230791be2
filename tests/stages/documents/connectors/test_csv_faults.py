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
        require_even(path)


@pytest.mark.parametrize(("content", "fault"), FAULTS.values(), ids=FAULTS)
def test_a_source_of_rows_tells_it(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(OSError, match=rf"people\.csv: {fault}") as raised:
        list(TableFiles(path, Patterns((), ())).rows())
    assert "Auto-Detected" not in str(raised.value)


def test_one_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(FINE["one column"])
    assert list(TableFiles(path, Patterns((), ())).rows()) == [{"text": "a, b"}, {"text": "c"}]
