from pathlib import Path

import duckdb
import pytest

from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.indexes.sql import open_tables, published_tables, results, unpublished_tables
from lightrag_dagster.schemas import MERGED_TABLES, PARSED, SOURCE_TABLES
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from tests.storage.corpus import OFFICE, RIVER, home_of, merge, merged_tables, store_tables


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
        return [rows.to_pydict() for rows in results(connection, statements)]


def test_every_table_has_the_columns_of_its_schema(generation: Generation) -> None:
    with open_tables(published_tables(generation)) as connection:
        for table, schema in (SOURCE_TABLES | MERGED_TABLES).items():
            assert connection.sql(f"FROM {table}").columns == schema.names
        (counts,) = results(connection, "SELECT source, count(*) AS n FROM chunks GROUP BY source ORDER BY source")
    assert counts.to_pydict() == {"source": ["office", "river"], "n": [2, 3]}


def test_a_table_that_an_older_version_did_not_have_is_empty(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER, office=OFFICE)
    inputs = merge(home, "river", "office").inputs()
    del inputs.sources["river"]["parsed"]
    (rows,) = ask(store_tables(home, inputs, merged_tables(home, inputs)), "SELECT DISTINCT source FROM parsed")
    assert rows == {"source": ["office"]}
    del inputs.sources["office"]["parsed"]
    older = store_tables(home, inputs, merged_tables(home, inputs))
    (rows,) = ask(older, "SELECT source, reason FROM parsed")
    assert rows == {"source": [], "reason": []}
    assert older.read_table("parsed").equals(PARSED.empty_table())


def test_times_are_utc(generation: Generation) -> None:
    (rows,) = ask(generation, "SELECT DISTINCT modified_at::VARCHAR AS at FROM raw_documents")
    assert rows == {"at": ["2026-01-02 00:00:00+00"]}


def test_every_result_is_yielded(generation: Generation) -> None:
    statements = "SELECT 1 AS a; CREATE TEMP TABLE mine AS SELECT 2 AS b; FROM mine; SELECT 3 AS c WHERE false"
    assert ask(generation, statements) == [{"a": [1]}, {"b": [2]}, {"c": []}]


def test_what_came_before_a_mistake_is_yielded(generation: Generation) -> None:
    seen: list[dict[str, list[object]]] = []
    with pytest.raises(QueryError, match="nowhere"), open_tables(published_tables(generation)) as connection:
        seen.extend(rows.to_pydict() for rows in results(connection, "SELECT 1 AS a; FROM nowhere"))
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


def test_a_statement_may_spill_to_disk(generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open_tables(published_tables(generation)) as connection:
        where = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        assert Path(where).parent.is_dir()
        with pytest.raises(duckdb.Error):
            connection.execute(f"COPY (SELECT 1) TO '{Path.cwd()}/.tmp/x' (FORMAT csv, USE_TMP_FILE false)")
    assert not Path(where).parent.exists()


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
    with pytest.raises((QueryError, StoreError)) as refused:
        ask(damaged, "FROM entities")
    assert "\n" not in str(refused.value)


def test_what_was_read_can_be_seen_before_it_is_published(tmp_path: Path) -> None:
    assert unpublished_tables(Home(tmp_path / "nothing")) == {}
    home = home_of(tmp_path / "home", river=RIVER, office=OFFICE)
    with open_tables(unpublished_tables(home)) as connection:
        counts = [rows.to_pydict() for rows in results(connection, "SELECT count(DISTINCT source) AS n FROM chunks")]
        assert counts == [{"n": [2]}]
        assert connection.sql("FROM entities").fetchall() == []
