"""Rows from the highest value of a column on."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings.sources import RowsSettings, SourceSettings
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.connectors.watermark import NewerRows
from lightrag_dagster.stages.documents.listing import list_files, source_signature
from lightrag_dagster.stages.documents.sources import Source

Rows = list[dict[str, Any]]


def to_parquet(folder: Path, rows: Rows) -> dict[str, Any]:
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    return {"uri": str(folder / "rows.parquet")}


def to_csv(folder: Path, rows: Rows) -> dict[str, Any]:
    lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
    (folder / "rows.csv").write_text("\n".join([",".join(rows[0]), *lines]))
    return {"uri": str(folder / "rows.csv")}


def to_duckdb(folder: Path, rows: Rows) -> dict[str, Any]:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", pa.Table.from_pylist(rows))
        connection.execute("CREATE OR REPLACE TABLE pages AS SELECT * FROM given")
    return {"uri": str(folder / "rows.duckdb"), "rows": {"query": "WITH p AS (FROM pages) SELECT * FROM p -- all"}}


def to_sqlite(folder: Path, rows: Rows) -> dict[str, Any]:
    engine = sqlalchemy.create_engine(f"sqlite:///{folder}/rows.sqlite")
    values = [{name: str(value) if isinstance(value, date) else value for name, value in row.items()} for row in rows]
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE IF EXISTS pages"))
        connection.execute(sqlalchemy.text('CREATE TABLE pages (id, text, "changed at")'))
        connection.execute(sqlalchemy.text("INSERT INTO pages VALUES (:id, :text, :at)"), [_at(row) for row in values])
    engine.dispose()
    return {"uri": "$PAGES_URL", "rows": {"query": "SELECT * FROM pages ORDER BY id;"}}


def _at(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "text": row["text"], "at": row["changed at"]}


def rows_of(*values: Any) -> Rows:
    """Return rows with these watermarks; the id is the position."""
    return [{"id": str(place), "text": f"{place}", "changed at": value} for place, value in enumerate(values)]


def source_of(named: dict[str, Any], **rows: Any) -> Source:
    settings = RowsSettings(**(named.get("rows", {}) | {"watermark": "changed at"} | rows))
    return Source("pages", choose_origin("pages", SourceSettings(uri=named.get("uri", ""), rows=settings)))


def look(source: Source, state: dict[str, str]) -> tuple[set[str], dict[str, str]]:
    """Return the paths that a listing since a state reads, and its own state."""
    assert isinstance(source.origin, Incremental)
    since = source.origin.since(state)
    paths = {one.path for one in since.files()}
    earlier = pa.array(["0", "1", "2", "gone"])
    kept = set(earlier.filter(since.keeps(earlier)).to_pylist())
    assert kept == ({"0", "1", "2", "gone"} - paths if state else set())
    return paths, dict(since.state)


DAYS = [date(2026, 1, 1), date(2026, 1, 2), None, date(2026, 1, 10)]
TIMES = [datetime(2026, 1, 1), datetime(2026, 1, 2, 3, 4, 5, 600), None, datetime(2026, 1, 10, 1)]


@pytest.mark.parametrize(
    ("write", "values"),
    [
        (to_parquet, [8, 9, None, 10]),
        (to_parquet, [8.5, float("nan"), None, 10.25]),
        (to_parquet, [Decimal("8.5"), Decimal("9.5"), None, Decimal("10.5")]),
        (to_parquet, TIMES),
        (to_duckdb, TIMES),
        (to_duckdb, DAYS),
        (to_sqlite, DAYS),
        (to_sqlite, [8, 9, None, 10]),
        (to_csv, DAYS),
        (to_csv, ["2026-01-01 10:00:00", "2026-01-01 10:00:00.5", None, "2026-01-02 10:00:00"]),
    ],
)
def test_rows_from_the_highest_value_on_are_read_and_those_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, Rows], dict[str, Any]], values: list[Any]
) -> None:
    monkeypatch.setenv("PAGES_URL", f"sqlite:///{tmp_path}/rows.sqlite")
    without = {str(place) for place, value in enumerate(values[:3]) if value is None or value != value}
    source = source_of(write(tmp_path, rows_of(*values[:3])))
    paths, first = look(source, {})
    assert paths == {"0", "1", "2"}
    highest = {str(place) for place in (0, 1) if str(place) not in without}
    assert look(source, first) == ({max(highest)} | without, first)

    write(tmp_path, rows_of(*values))
    paths, second = look(source, first)
    assert paths == {max(highest), "3"} | without
    assert second != first
    assert look(source, {})[1] == second  # a clean listing has the same state, and so the same signature
    assert source_signature(source, first) == source_signature(source, {})


def test_a_row_at_the_highest_value_that_changes_is_noticed(tmp_path: Path) -> None:
    source = source_of(to_parquet(tmp_path, rows_of(1, 2, 2)))
    _, first = look(source, {})
    to_parquet(tmp_path, [*rows_of(1, 2), {"id": "2", "text": "other", "changed at": 2}])
    assert source_signature(source, first) != source_signature(source_of(to_parquet(tmp_path, rows_of(1, 2, 2))), first)


def test_other_settings_read_all(tmp_path: Path) -> None:
    named = to_parquet(tmp_path, rows_of(1, 2, 3))
    _, first = look(source_of(named), {})
    source = source_of(named, title="id")
    assert isinstance(source.origin, Incremental)
    since = source.origin.since(first)
    assert {one.path for one in since.files()} == {"0", "1", "2"}
    assert since.keeps(pa.array(["0", "gone"])).to_pylist() == [False, False]
    assert isinstance(since, NewerRows)
    assert not since._paths, "where all is read, memory does not grow with it"


@pytest.mark.parametrize(
    ("write", "values", "reason"),
    [
        (to_csv, [9, 10], "its watermark changed at has a str, no UTC time; name a column of numbers"),
        (to_parquet, [True], "has a bool, no UTC time"),
        (to_parquet, [1.0, float("inf")], "has inf, above all that may come; leave it out in rows.query"),
        (to_parquet, [datetime(9999, 12, 31)], "above all that may come"),
        (to_csv, ["2026-01-01", "2026-01-01 10:00"], "values of several forms, such as '2026-01-01 10:00'"),
        (to_csv, ["2026-01-01T10:00:00Z", "2026-01-01T10:00:00.5Z"], "values of several forms"),
        (to_csv, ["2026-01-01T10:00:00+01:00", "2026-01-01T09:30:00+00:00"], "has a str, no UTC time"),
    ],
)
def test_values_that_do_not_sort_are_refused(
    tmp_path: Path, write: Callable[[Path, Rows], dict[str, Any]], values: list[Any], reason: str
) -> None:
    with pytest.raises(SourceError, match=reason):
        source_signature(source_of(write(tmp_path, rows_of(*values))), {})


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = source_of(to_parquet(tmp_path, rows_of(1)), watermark="updated")
    with pytest.raises(SourceError, match="its rows have no column 'updated'; there are id, text, changed at"):
        source_signature(source, {})
    assert len(list(list_files(source))) == 1


def test_times_with_a_zone_are_of_one_kind(tmp_path: Path) -> None:
    times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
    source = source_of(to_duckdb(tmp_path, rows_of(*times)))
    _, first = look(source, {})
    assert look(source, first) == ({"1"}, first)


def test_a_watermark_that_is_to_come_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    look(source_of(to_duckdb(tmp_path, rows_of(date(2026, 1, 1)))), {})
    assert caplog.messages == []
    look(source_of(to_duckdb(tmp_path, rows_of(date(2026, 1, 1), date(2999, 1, 1)))), {})
    (said,) = caplog.messages
    assert said.endswith("is at 2999-01-01, which is to come: rows before it are not seen until a backfill")


@pytest.mark.parametrize("write", [to_duckdb, to_sqlite])
def test_two_columns_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, Rows], dict[str, Any]]
) -> None:
    monkeypatch.setenv("PAGES_URL", f"sqlite:///{tmp_path}/rows.sqlite")
    named = write(tmp_path, rows_of(date(2026, 1, 1)))
    twice = "SELECT * FROM pages AS a JOIN pages AS b USING (text)"
    with pytest.raises(SourceError, match=r"several columns '(id|changed at)'; name them apart in rows.query, by AS"):
        source_signature(source_of(named, query=twice), {})


def test_a_comment_after_the_statement_is_no_part_of_it(tmp_path: Path) -> None:
    source = source_of(to_duckdb(tmp_path, rows_of(*DAYS)), query="SELECT * FROM pages; -- all\n-- of them")
    _, first = look(source, {})
    assert look(source, first) == ({"2", "3"}, first)
