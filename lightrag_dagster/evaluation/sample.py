"""A sample of the documents of a home, with all rows that were made from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.tables.source_tables import SourceTables, schema_of

if TYPE_CHECKING:
    import duckdb

Tables: TypeAlias = dict[str, pa.Table]

_KEYS = {"raw_documents": "doc_id", "chunks": "doc_id"}


class Sample(NamedTuple):
    """Rows of the accepted tables of each source, by source and table, and the number of all chunks."""

    tables: dict[str, Tables]
    all_chunks: int

    @property
    def documents(self) -> set[str]:
        """The documents as source/path, with accents composed."""
        return {
            composed(f"{source}/{path}")
            for source, tables in self.tables.items()
            for path in tables["raw_documents"]["path"].to_pylist()
        }

    def count(self, table: str) -> int:
        """Return the rows of a table in all sources."""
        return sum(tables[table].num_rows for tables in self.tables.values())


def take_sample(situation: Situation, count: int, first: Sequence[str] = ()) -> Sample:
    """Return up to `count` documents that were read, those named in `first` (source/path) before others.

    The others are taken in the order of a hash, so that all kinds are included, and the same ones each time.

    Raises:
        SourceError: no source is configured.
        StoreError: no document was accepted yet, or a table is damaged.
    """
    home, records = situation.home, situation.accepted
    versions = {one.name: situation.merged(one.name) for one in situation.chosen([])[0] if one.name in records}
    tables = SourceTables(home)
    chunks = [path for source, used in versions.items() for path in tables.paths("chunks", source, used["chunks"])]
    with in_memory() as connection:
        connection.execute("CREATE TEMP TABLE read (source VARCHAR, path VARCHAR, doc_id VARCHAR)")
        for source, used in versions.items():
            paths = tables.open("raw_documents", source, used["raw_documents"])
            view_files(connection, "stored", paths, SOURCE_TABLES["raw_documents"])
            read = "SELECT ?, path, doc_id FROM stored WHERE status = 'processed'"
            connection.execute(f"INSERT INTO read {read}", [source])
        wanted = {"first": list(first), "count": count}
        chosen = dict(connection.execute(read_sql(__package__, "sql/sample"), wanted).fetchall())
        if not chosen:
            raise StoreError(
                f"no document was accepted in {home.name} yet; run `lightrag-dagster run` first, and if it did, "
                "`lightrag-dagster status` says why a source is withheld"
            )
        found = {one: rows_of_documents(connection, tables, one, versions[one], ids) for one, ids in chosen.items()}
    return Sample(found, home.files.count_rows(chunks))


def rows_of_documents(
    connection: "duckdb.DuckDBPyConnection",
    tables: SourceTables,
    source: str,
    versions: dict[str, str],
    doc_ids: Sequence[str] | pa.Array,
) -> Tables:
    """Return the rows of some documents in each table of a source."""
    found: Tables = {}
    wanted = {"doc_id": pa.table({"doc_id": doc_ids})}
    for table in (*SOURCE_TABLES, *(one for one in versions if one not in SOURCE_TABLES)):
        paths, schema = tables.open(table, source, versions[table]), schema_of(table)
        key = _KEYS.get(table, "chunk_id")
        view_files(connection, "stored", paths, schema)
        connection.register("wanted", wanted[key])
        found[table] = connection.sql(f"FROM stored SEMI JOIN wanted USING ({key})").to_arrow_table().cast(schema)
        if table == "chunks":
            wanted["chunk_id"] = found[table].select(["chunk_id"])
    return found
