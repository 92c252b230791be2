"""Rows of files of CSV and JSON lines, and their faults as a source tells them."""

from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.connectors.tables import DuckDBQuery, From, SQLQuery, TableFiles

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
    fault = rf"people\.csv: a line has more or fewer columns than line {line}, is not UTF-8 or .* between quotes"
    with pytest.raises(OSError, match=fault) as raised:
        list(TableFiles(LocalFolder(path)).rows())
    assert not any(hint in str(raised.value) for hint in ("Auto-Detected", "Possible", "/dev/fd"))


def test_the_number_of_a_late_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(FAULTS["late"][0])
    with pytest.raises(OSError, match="CSV Error on Line: 30002 Expected Number of Columns: 2 Found: 1"):
        list(TableFiles(LocalFolder(path)).rows())


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("a.csv", '1,"a secret" of Marta', "Value with unterminated quote found"),
        ("a.csv", f"1,{'a secret ' * 3_000_000}", "longer than 20 MB.*Maximum line size of 20000000 bytes exceeded"),
        ("a.tsv", "1\ta secret\tof Marta", "Expected Number of Columns: 2 Found: 3"),
        ("a.jsonl", '"a secret"', "row 60,001 is not an object of JSON"),
    ],
)
def test_a_reason_has_nothing_of_the_rows(tmp_path: Path, name: str, line: str, reason: str) -> None:
    good = {"a.csv": "id,text\n1,Ann", "a.tsv": "id\ttext\n1\tAnn", "a.jsonl": '{"id": 1}\n{"id": 2}'}[name]
    (tmp_path / name).write_text(f"{good}\n" * 30_000 + line)
    with pytest.raises(OSError, match=reason) as raised:
        list(TableFiles(LocalFolder(tmp_path / name)).rows())
    assert "secret" not in str(raised.value)


def test_a_line_of_csv_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,text\n1,{'x' * 3_000_000}\n2,b\n")
    assert [len(row["text"]) for row in TableFiles(LocalFolder(tmp_path / "a.csv")).rows()] == [3_000_000, 1]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"id;name\n1;Ann\n", [{"id": "1", "name": "Ann"}]),
        (b'id;name\n1;"a; ""b""\nc"\n\n2;d\n', [{"id": "1", "name": 'a; "b"\nc'}, {"id": "2", "name": "d"}]),
        (b"\xef\xbb\xbfid\tname\r\n1\tb\r\n", [{"id": "1", "name": "b"}]),
        (b"2023,2024\n1,2\n", [{"2023": "1", "2024": "2"}]),
        (b"id,name,\n1,Ann,\n", [{"id": "1", "name": "Ann", "column2": None}]),
        (b"id,name\n1,'Ann\n2,Bo'\n", [{"id": "1", "name": "'Ann"}, {"id": "2", "name": "Bo'"}]),
        (b"id,name\n1,Ann\n#2,Bo\n", [{"id": "1", "name": "Ann"}, {"id": "#2", "name": "Bo"}]),
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
        "apostrophes are no quotes",
        "a hash is no comment",
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
    assert list(TableFiles(LocalFolder(path)).rows()) == rows


def test_a_file_of_sqlite_that_is_not_there_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGES_URL", f"sqlite:///{tmp_path}/rows.sqlite")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        list(SQLQuery("PAGES_URL", "SELECT 1").rows())
    assert not any(tmp_path.iterdir())


def test_two_columns_of_a_query_may_not_have_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "SELECT t.*, c.* FROM (SELECT 1 AS id, 'the ticket' AS body) t, (SELECT 'a comment' AS body) c"
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    monkeypatch.setenv("A_URL", "sqlite://")
    for table in (DuckDBQuery(tmp_path / "a.duckdb", query), SQLQuery("A_URL", query)):
        with pytest.raises(OSError, match=r"several columns 'body'; name them apart in rows\.query, by AS"):
            list(table.rows())


def test_a_line_says_that_a_file_has_several_columns_of_one_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Jira writes a column for each comment."""
    for name, names in {
        "a.csv": "id,Text,Comment,Text_1",
        "b.csv": 'id,Comment,"Comment",Sprint,Comment,Sprint',
        "c.csv": "Comment,Sprint,Comment,Sprint",
    }.items():
        (tmp_path / name).write_text(f"\ufeffissues of 2024\n{names}\n{'x,' * names.count(',')}x\n")
    rows = list(TableFiles(LocalFolder(tmp_path, Patterns(("*",)))).rows())
    assert set(rows[1]) == {"id", "Comment", "Comment_1", "Comment_2", "Sprint", "Sprint_1"}
    assert caplog.messages == [
        f"files of rows in {tmp_path} have several columns 'Comment', 'Sprint': a template finds the first of each "
        f"under that name, and the others as Comment_1, Sprint_1 and so on, as in {tmp_path}/b.csv"
    ]


def test_quotes_are_read_in_every_line(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,name\n" + "".join(f"{at},Ann\n" for at in range(25_000)) + '25000,"Acme, Inc"\n')
    *_, last = TableFiles(LocalFolder(path)).rows()
    assert last == {"id": "25000", "name": "Acme, Inc"}


JSON_LINES = """{"id": 101, "p": 3, "part": "10-11-12", "tags": ["a", 1.5]}
{"id": "A102", "p": 1.50, "part": "03-04-2024", "new": null}
"""


def test_values_of_json_lines_are_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text('{"id": 0, "p": 1}\n' * 21_000 + JSON_LINES)
    *_, number, text = TableFiles(LocalFolder(path)).rows()
    assert number == {"id": 101, "p": 3, "part": "10-11-12", "tags": ["a", Decimal("1.5")], "new": None}
    assert {name: str(value) for name, value in text.items()} == {
        "id": "A102",
        "p": "1.50",
        "part": "03-04-2024",
        "tags": "None",
        "new": "None",
    }


@pytest.mark.parametrize(("least", "ids"), [(None, [1, 2, 3]), (2, [2, 3])])
def test_a_part_of_json_lines_has_rows_from_a_value_on_and_those_without(
    tmp_path: Path, least: int | None, ids: list[int]
) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text('{"id": 1, "n": 1}\n{"id": 2, "n": 2}\n{"id": 3}\n')
    rows = TableFiles(LocalFolder(path)).rows(From("n", least))
    assert [row["id"] for row in rows] == ids


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"n": 1}\n[1]\n', "not an object of JSON"),
        ('{"n": "a"}\n', "type str, which do not compare with 2"),
        ('{"n": 1\n', "JSON"),
    ],
)
def test_json_lines_that_cannot_be_rows_are_refused(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text(lines)
    with pytest.raises(OSError, match=said):
        list(TableFiles(LocalFolder(path)).rows(From("n", 2)))


def test_one_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(b"text\na, b\nc\n")
    assert list(TableFiles(LocalFolder(path)).rows()) == [{"text": "a, b"}, {"text": "c"}]


def test_a_number_of_single_precision_has_the_digits_that_were_written(tmp_path: Path) -> None:
    values = [0.1, 19.99, 1e-07, 16777216.0, None, -2.5, 0.7]
    pq.write_table(pa.table({"price": pa.array(values, pa.float32())}), tmp_path / "a.parquet")
    table = TableFiles(LocalFolder(tmp_path / "a.parquet"))
    assert [row["price"] for row in table.rows()] == values
    *_, last = table.rows(From("price", None))  # a watermark is compared in full: 0.7 is more than the row has
    assert last in list(table.rows(From("price", last["price"])))
