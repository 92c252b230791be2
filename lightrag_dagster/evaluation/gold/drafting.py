"""Drafts of gold files: a sample of passages, with the rows that are stored of them as a first answer."""

from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.evaluation.gold.judged import extracted, name_chunks, rows_of
from lightrag_dagster.evaluation.gold.rows import COLUMNS
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.tables.source_tables import SourceTables


def draft(situation: Situation, known: set[str], count: int) -> Iterator[list[object]]:
    """Yield the cells of a gold file about up to `count` passages that are not `known`, by source, length and recipe.

    Raises:
        StoreError: a table is damaged.
    """
    tables, records = SourceTables(situation.home), situation.accepted
    versions = {source: situation.merged(source) for source in records}
    with in_memory() as connection:
        name_chunks(connection)
        for name, schema in (("chunk", CHUNKS), ("extraction", EXTRACTIONS)):
            paths = [path for one, used in versions.items() for path in tables.open(f"{name}s", one, used[f"{name}s"])]
            view_files(connection, f"every_{name}", paths, schema)
        connection.register("known", pa.table({"chunk": pa.array(sorted(known), pa.string())}))
        drawn = connection.sql(read_sql(__package__, "sql/drafted"), params={"count": count}).to_arrow_table()
        rows = rows_of(connection, tables, versions, drawn)
        stated = defaultdict[str, list[dict[str, str]]](list)
        for one in extracted(connection, drawn, rows.values()).to_pylist():
            stated[one["chunk"]].append(one)
    for passage in drawn.to_pylist():
        text = {"kind": "passage", "name": passage["place"], "text": passage["content"]}
        yield _cells({"chunk": passage["chunk"]} | text)
        yield from map(_cells, stated[passage["chunk"]])


def _cells(row: dict[str, str]) -> list[object]:
    return [row.get(column, "") for column in COLUMNS]
