from pathlib import Path

import pytest

from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.indexes.views import build_views, open_views
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.home import Home
from tests.storage.corpus import OFFICE, RIVER, home_of, merge


def views(home: Home, *sources: str) -> Path:
    generation = merge(home, *sources)
    build_views(generation)
    return generation.path("views.duckdb")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Views for tests that only read."""
    return views(home_of(tmp_path_factory.mktemp("built"), river=RIVER), "river")


def test_a_view_a_table(tmp_path: Path) -> None:
    home = home_of(tmp_path / "it's here", river=RIVER, office=OFFICE)
    with open_views(views(home, "river", "office")) as connection:
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]
            for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }
        assert connection.execute("SELECT source, count(*) FROM chunks GROUP BY source ORDER BY source").fetchall() == [
            ("office", 2),
            ("river", 3),
        ]
    assert set(counts) == set(SOURCE_TABLES) | set(MERGED_TABLES)
    assert counts["raw_documents"] == 3
    assert counts["entities"] == 5


@pytest.mark.parametrize("sources", [(), ("empty",)])
def test_without_rows_the_columns_are_the_same(tmp_path: Path, sources: tuple[str, ...]) -> None:
    full = home_of(tmp_path / "full", river=RIVER)
    bare = home_of(tmp_path / "bare", empty={})
    with open_views(views(full, "river")) as expected, open_views(views(bare, *sources)) as found:
        for table in (*SOURCE_TABLES, *MERGED_TABLES):
            query = f"DESCRIBE {table}"
            assert found.execute(query).fetchall() == expected.execute(query).fetchall()
            assert found.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


def test_building_again_writes_nothing(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    build_views(generation)
    before = generation.path("views.duckdb").stat()
    build_views(generation)
    assert generation.path("views.duckdb").stat() == before


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM chunks", "nothing"),
        ("FROM nowhere", "nowhere"),
        ("SELECT CAST(name AS INT) FROM entities", "Could not convert"),
        ("CREATE TABLE mine (a INT)", "read-only"),
    ],
)
def test_wrong_sql_is_one_line(built: Path, statement: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as refused, open_views(built) as connection:
        connection.execute(statement)
    assert "\n" not in str(refused.value)


def test_a_missing_or_damaged_file(tmp_path: Path) -> None:
    for content in (None, b"not a database" * 1000):
        if content:
            (tmp_path / "views.duckdb").write_bytes(content)
        with (
            pytest.raises(StoreError, match=r"views\.duckdb cannot be opened") as refused,
            open_views(tmp_path / "views.duckdb"),
        ):
            pytest.fail("opened")
        assert "\n" not in str(refused.value)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    generation.path("relations.parquet").unlink()
    with pytest.raises(StoreError, match=r"relations\.parquet"):
        build_views(generation)
    assert not [path for path in generation.path("x").parent.iterdir() if "views" in path.name]
