import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.indexes import sql
from lightrag_dagster.indexes.sql import (
    last_result,
    memory_limit,
    open_tables,
    published_tables,
    results,
    unpublished_tables,
)
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.storage.corpus import OFFICE, RIVER, home_of, merge


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    """A generation for tests that only read."""
    home = home_of(tmp_path_factory.mktemp("built") / "it's here", river=RIVER, office=OFFICE)
    return merge(home, "river", "office")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that is not of the home."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    return secret


def ask(generation: Generation, statements: str, *, allow_external: bool = False) -> list[dict[str, list[object]]]:
    with open_tables(published_tables(generation), allow_external=allow_external) as connection:
        return [rows.read_all().to_pydict() for rows in results(connection, statements)]


def test_every_table_has_the_columns_of_its_schema(generation: Generation) -> None:
    with open_tables(published_tables(generation)) as connection:
        for table, schema in (SOURCE_TABLES | MERGED_TABLES).items():
            assert connection.sql(f"FROM {table}").columns == schema.names
        counts = next(results(connection, "SELECT source, count(*) AS n FROM chunks GROUP BY source ORDER BY source"))
        assert counts.read_all().to_pydict() == {"source": ["office", "river"], "n": [2, 3]}


def test_times_are_utc(generation: Generation) -> None:
    (rows,) = ask(generation, "SELECT DISTINCT modified_at::VARCHAR AS at FROM raw_documents")
    assert rows == {"at": ["2026-01-02 00:00:00+00"]}


def test_every_result_is_yielded(generation: Generation) -> None:
    statements = "SELECT 1 AS a; CREATE TEMP TABLE mine AS SELECT 2 AS b; FROM mine; SELECT 3 AS c WHERE false"
    assert ask(generation, statements) == [{"a": [1]}, {"b": [2]}, {"c": []}]


def test_what_came_before_a_mistake_is_yielded(generation: Generation) -> None:
    seen: list[dict[str, list[object]]] = []
    with pytest.raises(QueryError, match="nowhere"), open_tables(published_tables(generation)) as connection:
        seen.extend(rows.read_all().to_pydict() for rows in results(connection, "SELECT 1 AS a; FROM nowhere"))
    assert seen == [{"a": [1]}]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{outside}')",
        "SELECT * FROM read_blob('{outside}')",
        "SELECT * FROM read_csv('{outside}')",
        "SELECT * FROM sniff_csv('{outside}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM query('FROM read_text(''{outside}'')')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{outside}' (FORMAT csv, USE_TMP_FILE false)",
        "COPY (SELECT 1 AS a) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)",
        "WITH x AS (COPY (SELECT 1 AS a) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)) FROM x",
        "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)",
        "PREPARE p AS COPY (SELECT 1 AS a) TO '{table}' (FORMAT parquet, USE_TMP_FILE false); EXECUTE p",
        "SELECT * FROM read_parquet('{table}')",
        "EXPORT DATABASE '{folder}/export'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "INSTALL '{outside}'",
        "LOAD httpfs",
        "SELECT * FROM 'http://127.0.0.1:9/a.parquet'",
        "CREATE SECRET (TYPE s3)",
        "CREATE PERSISTENT SECRET mine (TYPE http)",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET temp_directory = '{folder}/elsewhere'",
        "RESET lock_configuration",
        "SET lock_configuration = false",
        "SET profiling_output = '{folder}/profile.json'",
        "PRAGMA profile_output = '{folder}/profile.json'",
        "CALL enable_logging(storage := 'file', storage_path := '{folder}/log')",
    ],
)
def test_no_statement_reaches_anything_else(generation: Generation, outside: Path, statement: str) -> None:
    table = generation.path("entities.parquet")
    before, listed = table.read_bytes(), sorted(outside.parent.rglob("*"))
    quoted = {"outside": outside, "folder": outside.parent, "table": str(table).replace("'", "''")}
    with pytest.raises(QueryError) as refused:
        ask(generation, statement.format(**quoted))
    assert "\n" not in str(refused.value)
    assert outside.read_text() == "secret"
    assert sorted(outside.parent.rglob("*")) == listed
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{folder}/x.csv'",
        "SELECT 'é'; WITH x AS (/* é */ copy (SELECT 1 AS a) TO '{folder}/x.csv') FROM x",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/x.csv'",
        "EXPORT DATABASE '{folder}'",
        "ATTACH '{folder}/x.duckdb'",
    ],
)
def test_no_statement_writes_beside_the_temporary_files(generation: Generation, statement: str) -> None:
    with open_tables(published_tables(generation)) as connection:
        folder = Path(connection.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
        folder.mkdir()  # as the first block that does not fit into memory makes it
        with pytest.raises(QueryError, match=r"--allow-external.* writes files; as a name it is"):
            last_result(connection, statement.format(folder=folder))
        assert list(folder.iterdir()) == []
        assert last_result(connection, """SELECT 'copy' AS "copy" -- copy""").to_pydict() == {"copy": ["copy"]}


def test_a_refusal_names_the_option(generation: Generation, outside: Path) -> None:
    with pytest.raises(QueryError, match="--allow-external"):
        ask(generation, f"FROM read_text('{outside}')")


def test_external_access_can_be_allowed(generation: Generation, outside: Path) -> None:
    (rows,) = ask(generation, f"SELECT content FROM read_text('{outside}')", allow_external=True)
    assert rows == {"content": ["secret"]}
    ask(generation, f"COPY entities TO '{outside.parent}/entities.csv'", allow_external=True)
    assert (outside.parent / "entities.csv").is_file()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM chunks", "nothing"),
        ("SELECT CAST(name AS INT) FROM entities", "Could not convert"),
    ],
)
def test_wrong_sql_is_one_line(generation: Generation, statement: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as refused:
        ask(generation, statement)
    assert "\n" not in str(refused.value)


SORTED = "SELECT i, sha256(i::VARCHAR) AS h FROM range(500000) AS t(i) ORDER BY h"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for temporary files, and bounds that a small query reaches."""
    folder = tmp_path / "it's temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(sql, "_MOST_MEMORY", 50_000_000)
    return folder


@pytest.mark.long
def test_a_statement_may_spill_to_a_folder_that_is_removed(generation: Generation, small: Path) -> None:
    with open_tables(published_tables(generation)) as connection:
        (folder,) = small.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        rows = next(results(connection, SORTED))
        assert rows.read_next_batch().num_rows > 0
        assert list((folder / "spill").iterdir())
        with pytest.raises(duckdb.Error):
            connection.execute(f"COPY (SELECT 1) TO '{Path.cwd()}/.tmp/x' (FORMAT csv, USE_TMP_FILE false)")
    assert list(small.iterdir()) == []


@pytest.mark.parametrize(
    ("disk", "statement"),
    [
        pytest.param(0.0, SORTED, marks=pytest.mark.long),
        (0.5, "SELECT list(i) FROM range(100000000) AS t(i)"),
    ],
)
def test_memory_and_temporary_files_are_bounded(
    generation: Generation, small: Path, monkeypatch: pytest.MonkeyPatch, disk: float, statement: str
) -> None:
    monkeypatch.setattr(sql, "_DISK_SHARE", disk)
    with pytest.raises(QueryError, match=r"more memory or temporary files than it may take.*; select fewer") as refused:
        ask(generation, statement)
    assert "\n" not in str(refused.value)
    assert "SET " not in str(refused.value)
    assert list(small.iterdir()) == []


def test_the_bounds_are_a_share_of_the_machine_with_a_cap(
    generation: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "_MOST_MEMORY", 1 << 60)
    with duckdb.connect() as machine, open_tables(published_tables(generation)) as connection:
        default = memory_limit(machine)  # 80 percent
        assert 0.2 * default < memory_limit(connection) < 0.4 * default
        monkeypatch.setattr(sql, "_MOST_MEMORY", 1 << 20)
        with open_tables(published_tables(generation)) as bounded:
            assert memory_limit(bounded) == 1 << 20


def test_rows_are_read_while_the_statement_runs(generation: Generation) -> None:
    statement = "SELECT CASE WHEN i = 3000000 THEN error('late') ELSE i END AS i FROM range(3000001) AS t(i)"
    seen = 0
    with open_tables(published_tables(generation)) as connection:
        rows = next(results(connection, statement))
        with pytest.raises(QueryError, match="late"):  # noqa: PT012
            for batch in rows:
                seen += batch.num_rows
    assert 0 < seen <= 3_000_000


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b",
        "SELECT i FROM range(1000000000000) AS t(i)",
        "CREATE TEMP TABLE large AS SELECT i FROM range(1000000000000) AS t(i)",
    ],
)
def test_time_is_bounded_on_request(generation: Generation, statement: str) -> None:
    with open_tables(published_tables(generation)) as connection:
        with pytest.raises(QueryError, match=r"longer than 0\.1 s; narrow it"):
            sum(batch.num_rows for rows in results(connection, statement, timeout=0.1) for batch in rows)
        assert last_result(connection, "SELECT 1 AS a", timeout=60).to_pydict() == {"a": [1]}
    assert not [thread for thread in threading.enumerate() if thread.name == "lightrag-sql-timeout"]


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_time_that_is_none_is_refused(generation: Generation, timeout: float) -> None:
    with open_tables(published_tables(generation)) as connection, pytest.raises(QueryError, match="more than 0 s"):
        last_result(connection, "SELECT 1", timeout=timeout)


def test_the_last_result_is_returned_whole(generation: Generation, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_tables(published_tables(generation)) as connection:
        rows = last_result(
            connection, "SELECT 1 AS a; CREATE TEMP TABLE t AS SELECT 2 AS b; FROM t; SET VARIABLE x = 1"
        )
        assert rows.to_pydict() == {"b": [2]}
        assert last_result(connection, "SELECT i FROM range(200000) AS t(i)")["i"].to_pylist()[-1] == 199_999
        assert last_result(connection, "SELECT 1 AS a WHERE false").schema == pa.schema([("a", pa.int32())])
        for nothing in ("SET VARIABLE x = 1", "CREATE TEMP TABLE u AS SELECT 1"):
            with pytest.raises(QueryError, match="returns no rows; end it with a query"):
                last_result(connection, nothing)
        monkeypatch.setattr(sql, "memory_limit", lambda _: 1_000_000)
        with pytest.raises(QueryError, match=r"more than 0\.0 GB of memory; .*--format csv"):
            last_result(connection, "SELECT i FROM range(10000000) AS t(i)")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("CREATE OR REPLACE VIEW entities AS SELECT 42 AS name", [42]),
        ("CREATE TEMP TABLE entities AS SELECT 42 AS name", [42]),
        ("CREATE OR REPLACE VIEW ENTITIES AS SELECT count(*) AS name FROM chunks", [5]),
    ],
)
def test_a_view_takes_the_place_of_a_table_of_the_home(
    generation: Generation, change: str, found: list[object]
) -> None:
    assert ask(generation, f"{change}; SELECT name FROM entities") == [{"name": found}]
    assert len(ask(generation, "FROM entities")[0]["name"]) == 5


def test_a_table_in_the_place_of_one_of_the_home_is_refused(generation: Generation) -> None:
    with pytest.raises(QueryError, match="entities"):
        ask(generation, "CREATE TABLE entities AS SELECT 42 AS name")


def test_a_pivot_has_rows(generation: Generation) -> None:
    assert ask(generation, "PIVOT (SELECT source, 1 AS n FROM chunks) ON source USING sum(n)") == [
        {"office": [2], "river": [3]}
    ]


def test_a_table_that_is_gone_is_named(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    generation.path("relations.parquet").unlink()
    with pytest.raises(StoreError, match=r"relations\.parquet"), open_tables(published_tables(generation)):
        pytest.fail("opened")


@pytest.fixture(params=["truncated", "other"])
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Generation:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    path = generation.path("entities.parquet")
    path.write_bytes(path.read_bytes()[:-20] if request.param == "truncated" else b"no parquet" * 100)
    return generation


def test_a_damaged_table_is_one_line(damaged: Generation) -> None:
    for statement in ("FROM entities", "SELECT count(*) FROM entities", "FROM entities ORDER BY name"):
        with pytest.raises(
            StoreError, match=r"cannot be read: .*entities\.parquet.*; run `lightrag-dagster run"
        ) as refused:
            ask(damaged, statement)
        assert "\n" not in str(refused.value)


def test_what_was_read_can_be_seen_before_it_is_published(tmp_path: Path) -> None:
    assert unpublished_tables(Home(tmp_path / "nothing")) == {}
    home = home_of(tmp_path / "home", river=RIVER, office=OFFICE)
    with open_tables(unpublished_tables(home)) as connection:
        counts = [
            rows.read_all().to_pydict()
            for rows in results(connection, "SELECT count(DISTINCT source) AS n FROM chunks")
        ]
        assert counts == [{"n": [2]}]
        assert connection.sql("FROM entities").fetchall() == []
