import csv
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes import sql as tables
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from tests.cli.test_cli import command
from tests.storage.corpus import RIVER, home_of

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sql(published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    return lambda *arguments: command(capfd, monkeypatch, "sql", *arguments)


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_text_is_printed_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    text = "see [note], [/etc/hosts], 1:100:3"
    code, printed, errors = command(capfd, monkeypatch, "sql", f"select '{text}' as said", "--format", output)
    assert (code, errors) == (0, "")
    assert text in printed


def test_an_error_quotes_text_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    assert "'1:100:3[/x]'" in command(capfd, monkeypatch, "query", "Who?", "--source", "1:100:3[/x]")[2]


@pytest.mark.parametrize(
    ("output", "expected"),
    [("csv", "a,a,b\n1,2,3\n"), ("json", '[{"a": 1, "a_1": 2, "b": 3}]\n'), ("table", "│ 1 │ 2 │ 3 │")],
)
def test_columns_of_one_name_stay_apart(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    statement = "select 1 as a, 2 as a, 3 as b"
    assert expected in command(capfd, monkeypatch, "sql", statement, "--format", output)[1]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("csv", "a\n1\n\nb\nx\n"),
        ("json", '[{"a": 1}]\n[{"b": "x"}]\n'),
        ("table", "┏━━━┓\n┃ a ┃\n┡━━━┩\n│ 1 │\n└───┘\n\n┏━━━┓\n┃ b ┃\n┡━━━┩\n│ x │\n└───┘\n"),
    ],
)
def test_every_statement_prints_its_rows(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, output: str, expected: str
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    statements = "select 1 as a; set variable x = 'x'; select getvariable('x') as b"
    assert command(capfd, monkeypatch, "sql", statements, "--format", output) == (0, expected, "")


def test_other_files_need_an_option(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    (tmp_path / "mine.csv").write_text("a\n1\n")
    statement = f"select a from '{tmp_path}/mine.csv'"
    code, printed, errors = command(capfd, monkeypatch, "sql", statement)
    assert (code, printed) == (2, "")
    assert "--allow-external" in errors
    assert command(capfd, monkeypatch, "sql", statement, "--format", "csv", "--allow-external")[:2] == (0, "a\n1\n")


def test_a_source_that_is_held_back_can_be_read(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(home_of(tmp_path, river=RIVER).root))
    statement = "select path, status from raw_documents order by path"
    code, printed, errors = command(capfd, monkeypatch, "sql", statement, "--format", "csv")
    assert (code, printed.splitlines()[:2]) == (0, ["path,status", f"{sorted(RIVER)[0]},processed"])
    assert errors.startswith("Nothing is published yet")


def test_a_scope_that_shows_no_document_is_told_and_refused(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = home_of(tmp_path, river=RIVER).root
    shutil.copytree(home, tmp_path / "staff")
    shutil.move(tmp_path / "staff", home / "scopes" / "staff")
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    code, printed, errors = command(capfd, monkeypatch, "--scope", "staff", "sql", "from raw_documents")
    said = "the settings lack it, it shows no document, or no run has made it yet; correct its rule"
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: no scope staff is published in {home}: {said}")
    code, printed, _ = command(capfd, monkeypatch, "--scope", "staff", "status")
    assert (code, printed.startswith(f"Nothing is published in {home / 'scopes' / 'staff'} yet: {said}")) == (0, True)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("time '24:00:00'", "24:00:00"),
        ("timetz '01:02:03+02'", "01:02:03+02"),
        ("'101'::bit", "101"),
        ("'\\x05a'::blob", "\\x05a"),
        ("interval '1 month 3 seconds'", "1 month 00:00:03"),
        ("340282366920938463463374607431768211455::uhugeint", "340282366920938463463374607431768211455"),
        ("12345678901234567890123456789012345678901234567890::bignum", "1" + "2345678901" * 4 + "234567890"),
        ("timestamp_ns '2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456789"),
        ("time '24:00:00'::time_ns", "24:00:00"),
    ],
)
def test_values_are_printed_as_duckdb_writes_them(sql: Run, value: str, written: str) -> None:
    statement = f"""select 1 as a, {value} as a, {value} as "b""c" """
    assert sql(statement, "--format", "csv") == (0, f'a,a,"b""c"\n1,{written},{written}\n', "")
    assert json.loads(sql(statement, "--format", "json")[1]) == [{"a": 1, "a_1": written, 'b"c': written}]
    assert written in sql(f"select {value} as a")[1]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("[time '24:00:00', null]", "['24:00:00', NULL]"),
        ("[['101'::bit]]", "[[101]]"),
        ("map {'day': [interval 1 day]}", "{day=[1 day]}"),
        ("{'a': {'b': time '24:00:00'}, 'TIME ZONE': 1}", "{'a': {'b': '24:00:00'}, 'TIME ZONE': 1}"),
    ],
)
def test_columns_with_such_values_in_them_are_the_text_that_duckdb_writes(sql: Run, value: str, written: str) -> None:
    assert json.loads(sql(f"select {value} as a", "--format", "json")[1]) == [{"a": written}]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("[date '2023-01-14', null]", "[2023-01-14, NULL]"),
        (
            "{'n': 1.50::decimal(4,2), 't': timestamptz '2023-01-14 00:00:00+00'}",
            "{'n': 1.50, 't': '2023-01-14 00:00:00+00'}",
        ),
        ("['x', 'a, b']::varchar[2]", "[x, 'a, b']"),
        ("map {'k': 'nan'::double}", "{k=nan}"),
        ("union_value(one := ['x'])", "[x]"),
    ],
)
def test_lists_and_structures_are_text_of_duckdb_where_people_read_them(sql: Run, value: str, written: str) -> None:
    (_, row) = csv.reader(sql(f"select {value} as a", "--format", "csv")[1].splitlines())
    assert row == [written]
    assert written in sql(f"select {value} as a")[1]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (
            "{'time': now() > now(), 'b c': 1.50::decimal(4,2), 'q\"': [date '2024-01-31']}",
            {"time": False, "b c": 1.5, 'q"': ["2024-01-31"]},
        ),
        (
            "{'a': {'b': timestamptz '2024-01-01 12:00:00+00'}, 'c': null, 'd': 'nan'::double}",
            {"a": {"b": "2024-01-01 12:00:00+00:00"}, "c": None, "d": None},
        ),
        ("map {date '2024-01-31': 2.50::decimal(4,2)}", [["2024-01-31", 2.5]]),
        ("[{'a': 'x'}]::struct(a varchar)[1]", [{"a": "x"}]),
        (
            "{'b': union_value(n := 1), 'c': 'x'::enum('x', 'y'), 'd': '[1]'::json}",
            {"b": 1, "c": "x", "d": "[1]"},
        ),
    ],
)
def test_parts_of_values_are_json_as_columns_are(sql: Run, value: str, written: object) -> None:
    assert json.loads(sql(f"select {value} as a", "--format", "json")[1]) == [{"a": written}]


LATE = "SELECT i, CASE WHEN i = 30000 THEN error('too late') ELSE repeat('x', 1000) END AS x FROM range(30001) AS t(i)"
"""More bytes than DuckDB makes ahead of its reader."""


@pytest.mark.parametrize("output", ["csv", "json"])
def test_what_came_before_an_error_is_printed(sql: Run, output: str) -> None:
    code, printed, errors = sql(LATE, "--format", output)
    assert code == 2
    assert printed.startswith("i,x\n0,xxx" if output == "csv" else '[{"i": 0, "x": "xxx')
    assert not printed.endswith("]\n")
    assert errors == "error: the SQL cannot be run: Invalid Input Error: too late\n"


def test_bytes_that_are_not_utf_8_are_refused(sql: Run) -> None:
    code, printed, errors = sql("SELECT '\udcff'")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: the SQL holds half a character, '\\udcff' at position 8, which no text")


def test_an_error_before_the_first_row_prints_nothing(sql: Run) -> None:
    assert sql("SELECT 1 AS a; SELECT error('at once') AS b", "--format", "csv")[:2] == (2, "a\n1\n")


@pytest.mark.parametrize("output", ["csv", "json"])
def test_a_pipe_that_is_closed_ends_the_statement_quietly(
    sql: Run, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        code, _, errors = sql(LATE, "--format", output)
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), closed.fileno())
    assert (code, errors) == (141, "")


@pytest.mark.parametrize(
    ("output", "expected"),
    [("csv", "a,b\n"), ("json", "[]\n"), ("table", "┃ a ┃ b ┃\n┡━━━╇━━━┩\n└───┴───┘\nno rows\n")],
)
def test_no_rows_are_said(sql: Run, output: str, expected: str) -> None:
    code, printed, errors = sql("SELECT 1 AS a, 2 AS b WHERE false", "--format", output)
    assert (code, errors) == (0, "")
    assert printed.endswith(expected)


def test_a_table_shows_the_first_rows_and_counts_the_others(sql: Run) -> None:
    code, printed, errors = sql("FROM range(1000000)")
    assert (code, errors) == (0, "")
    assert printed.count("\n│") == 100
    assert printed.endswith("999,900 more rows; use --format csv for all of them.\n")


def test_a_value_too_large_is_refused_as_rows_are(sql: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST_MEMORY", 100_000_000)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    code, printed, errors = sql("SELECT range(100000000) AS large", "--format", "csv")
    assert (code, printed) == (2, "")
    assert "more memory" in errors
    assert errors.count("\n") == 1
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_time_is_bounded_on_request(sql: Run) -> None:
    code, printed, errors = sql("SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b", "--timeout", "0.1")
    assert (code, printed) == (2, "")
    assert errors == "error: the SQL took longer than 0.1 s; narrow it, or give it more time\n"


def test_a_snapshot_is_chosen(sql: Run, published_home: Path) -> None:
    (snapshot,) = (path.name for path in published_home.glob("generations/gen-*"))
    statement = "SELECT count(DISTINCT source) AS n FROM chunks"
    assert sql(statement, "--format", "csv", "--snapshot", snapshot) == (0, "n\n2\n", "")
    assert sql(statement, "--snapshot", "nowhere")[0] == 2
    assert sql(statement, "--snapshot", "")[0] == 2  # such as of a variable that is not set
    assert "there is no snapshot " in sql("FROM changes", "--snapshot", "")[2]


CELLS = """
SELECT '=1+1' AS "=a", '+1' AS b, '-x' AS c, '@x' AS d, chr(9) || 'x' AS e, chr(13) || '=x' AS f, 'a=b' AS g,
    -1 AS h, '' AS i, NULL AS j, -1.5::DECIMAL(9, 1) AS k
"""


def test_formulas_are_text_for_a_spreadsheet_on_request(sql: Run) -> None:
    plain = sql(CELLS, "--format", "csv")[1]
    assert plain == '=a,b,c,d,e,f,g,h,i,j,k\n=1+1,+1,-x,@x,\tx,"\r=x",a=b,-1,,,-1.5\n'
    escaped = sql(CELLS, "--format", "escaped-csv")[1]
    assert escaped == "'=a,b,c,d,e,f,g,h,i,j,k\n'=1+1,'+1,'-x,'@x,'\tx,\"'\r=x\",a=b,-1,,,-1.5\n"


def test_reading_writes_nothing_in_the_home(sql: Run, published_home: Path) -> None:
    def listed() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in published_home.rglob("*")}

    before = listed()
    assert json.loads(sql("SELECT count(*) AS n FROM raw_documents", "--format", "json")[1]) == [{"n": 5}]
    assert listed() == before


def test_json_has_numbers_that_every_reader_knows(sql: Run) -> None:
    code, printed, _ = sql(
        "select sum(x) s, 1.5 d, 'nan'::double n, ['inf'::double] l from range(3) t(x)", "--format", "json"
    )
    assert (code, printed) == (0, '[{"s": 3, "d": 1.5, "n": null, "l": [null]}]\n')


@pytest.mark.parametrize("output", ["table", "csv", "json"])
def test_a_time_that_cannot_be_shown_is_one_line(sql: Run, output: str) -> None:
    code, _, errors = sql("select 'infinity'::timestamp as until", "--format", output)
    assert (code, errors.count("\n")) == (2, 1)
    assert "column until has a date or time that cannot be shown" in errors


def test_snapshots_and_costs_are_tables_for_sql_in_python_too(
    sql: Run, published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(shutil.copytree(published_home, tmp_path / "copy"))
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    [row] = json.loads(sql("select * from snapshots", "--format", "json")[1])
    assert (row["sequence"], row["is_published"]) == (1, True)
    assert row["entities"] > 0
    Ledger(home / "ledger.sqlite").add(Entry("run", "extract", "notes", "gpt", 3, 1, 1_000, 0, 20, 1.25))
    asked = "select source, calls, stored, cost_usd from Costs where model = 'gpt'"
    paid = [{"source": "notes", "calls": 3, "stored": 1, "cost_usd": 1.25}]
    assert json.loads(sql(asked, "--format", "json")[1]) == paid
    with KnowledgeBase.open(home) as knowledge:
        assert knowledge.sql(asked).to_pylist() == paid
        both = "select max(entities) as entities, count(*) as costs from snapshots, costs where model = 'gpt'"
        assert knowledge.sql(both).to_pylist() == [{"entities": row["entities"], "costs": 1}]
        pivoted = "pivot (from /* of the home */ costs) on model in ('gpt') using sum(cost_usd) group by month"
        assert knowledge.sql(pivoted)["gpt"].to_pylist() == [1.25]
        assert knowledge.sql("create temp table costs as select 1 as one; from costs").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(
    "statement",
    [
        "select name, changes from (select 'a' as name, 1 as changes)",
        "with one as (select 1 as name), changes as (select 2 as changes) select * from one, changes",
    ],
)
def test_a_column_or_view_may_have_the_name_of_a_table_that_cannot_be_made(sql: Run, statement: str) -> None:
    assert sql(statement, "--format", "csv")[::2] == (0, "")
    assert "there is no snapshot before gen-" in sql("from /* of */ Changes")[2]


@pytest.mark.parametrize(
    "statement",
    ["pivot costs on month using sum(cost_usd)", "from--\nledger", "select * from entities,/* */snapshots"],
)
def test_tables_of_the_home_are_found_in_any_statement(sql: Run, statement: str) -> None:
    assert sql(statement, "--format", "csv")[::2] == (0, "")


def test_a_damaged_ledger_fails_only_statements_that_read_it(
    sql: Run, published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(shutil.copytree(published_home, tmp_path / "copy"))
    (home / "ledger.sqlite").write_text("no database")
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    statement, said = "select 'costs, ledger' as said", ["costs, ledger"]
    assert sql(statement, "--format", "csv")[::2] == (0, "")
    assert "ledger.sqlite" in sql("from costs")[2]
    with KnowledgeBase.open(home) as knowledge:
        for trusted in (True, False):
            assert knowledge.sql(statement, trusted=trusted)["said"].to_pylist() == said
            with pytest.raises(StoreError, match=r"ledger\.sqlite"):
                knowledge.sql("from Ledger", trusted=trusted)


def test_the_ledger_is_a_table_of_its_own(sql: Run) -> None:
    home = Path(os.environ["LIGHTRAG_HOME"])
    for statement in ("describe ledger", "describe table ledger", "describe main.ledger", "DESC (from ledger)"):
        assert sql(statement, "--format", "csv")[1].splitlines()[1].startswith("date,DATE")
    code, printed, _ = sql("select count(*) as entries, sum(cost_usd) as usd from LEDGER", "--format", "json")
    entries = Ledger(home / "ledger.sqlite").entries().num_rows
    spent = sum(row["cost_usd"] for row in Ledger(home / "ledger.sqlite").costs(["run"]))
    assert (code, json.loads(printed)) == (
        0,
        [{"entries": entries, "usd": spent if entries else None}],
    )
    assert (
        sql("create or replace view ledger as select 1 as one; select one from ledger", "--format", "csv")[1]
        == "one\n1\n"
    )
