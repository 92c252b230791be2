from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.exports.tables import DATABASE, _group_rows, write_tables
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published
from lightrag_dagster.view_schemas import DESCRIPTIONS, VIEWS
from tests.exports.texts import HOSTILE, graph_of

OF_FACTS = {
    "readings", "facts", "read_facts", "merged_facts", "fact_evidence", "fact_spans", "facts_now", "contradictions",
}  # fmt: skip
"""Tables and views of snapshots that merge a pass."""


def published(folder: Path) -> Generation:
    return Generation(Home(folder), require_published(Home(folder)).snapshot_id)


def test_every_table_is_a_file_and_a_table_with_comments(published_home: Path, tmp_path: Path) -> None:
    generation = published(published_home)
    folder = tmp_path / "it's here"
    folder.mkdir()
    written = write_tables(generation, folder)
    tables = {table: schema for table, schema in VIEWS.items() if table not in OF_FACTS}
    assert {path.name for path in folder.iterdir()} == {DATABASE, *(f"{table}.parquet" for table in tables)}
    with duckdb.connect(folder / DATABASE, read_only=True) as connection, open_tables(generation) as expected:
        for table, schema in tables.items():
            rows = connection.execute(f"FROM {table}").fetchall()
            assert written.rows[f"{table}.parquet"] == len(rows)
            parquet = pq.read_table(folder / f"{table}.parquet")
            assert parquet.column_names == schema.names
            assert parquet.num_rows == len(rows)
            if table in SOURCE_TABLES or table in MERGED_TABLES:
                assert rows == expected.execute(f"FROM {table}").fetchall()
            else:  # so that an export is the same each time
                assert rows == connection.execute(f"FROM {table} ORDER BY ALL").fetchall()
            comments = connection.execute(
                f"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = '{table}' ORDER BY column_index"
            ).fetchall()
            assert comments == [(field.name, field.metadata[b"description"].decode()) for field in schema]
        assert dict(connection.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall()) == {
            table: DESCRIPTIONS[table] for table in tables
        }
    assert written.rows[DATABASE] == sum(rows for name, rows in written.rows.items() if name != DATABASE)
    assert not list(tmp_path.rglob("spill"))


def test_every_hostile_text_comes_back(tmp_path: Path) -> None:
    write_tables(graph_of(tmp_path, HOSTILE), tmp_path)
    with duckdb.connect(tmp_path / DATABASE, read_only=True) as connection:
        rows = connection.execute("SELECT name FROM entities ORDER BY entity_id").fetchall()
    assert [name for (name,) in rows] == list(HOSTILE)
    names = pq.read_table(tmp_path / "entities.parquet", columns=["name"])["name"].to_pylist()
    assert names == list(HOSTILE)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    generation = graph_of(tmp_path, ["one"])
    generation.path("relations.parquet").unlink()
    with pytest.raises(StoreError, match=r"relations\.parquet"):
        write_tables(generation, tmp_path)


@pytest.mark.parametrize(
    ("lengths", "rows"), [([], 122_880), ([100, 300], 122_880), ([20_000], 2_048), ([5_000], 12_288), ([10**6], 2_048)]
)
def test_groups_of_long_documents_have_fewer_rows(lengths: list[int], rows: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE raw_documents (content VARCHAR)")
        for length in lengths:
            connection.execute("INSERT INTO raw_documents VALUES (repeat('x', $1))", [length])
        assert _group_rows(connection) == rows
