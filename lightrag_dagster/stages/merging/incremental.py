"""The merge after a change: groups that a changed chunk affects are merged, all other rows are copied.

A chunk is changed when a position, the extraction or a mention of it is not what the last merge read. The evidence of a
chunk depends on that chunk alone; a row depends on the evidence of its group, and on names and degrees of its
neighbours. Hence the result equals a merge of everything.
"""

from collections.abc import Sequence
from operator import attrgetter

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.schemas import RELATIONS, SOURCE_TABLES
from lightrag_dagster.stages.merging.database import count, fetch, name_entities, read_statement, run, view_files
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.storage import files

MOST_CHANGED = 0.25
"""When a larger share of the chunks changed, it is cheaper to merge everything."""


def few_changed(connection: duckdb.DuckDBPyConnection, inputs: Sequence[MergeInput], previous: Previous) -> bool:
    """Collect the changed chunks in `changed_chunk` and return True, or return False when there are too many."""
    for table in ("chunks", "extractions", "entity_mentions", "relation_mentions"):
        now, before = (set(map(attrgetter(table), state)) for state in (inputs, previous.inputs))
        view_files(connection, f"{table}_now", SOURCE_TABLES[table], now - before)
        view_files(connection, f"{table}_before", SOURCE_TABLES[table], before - now)
    most = MOST_CHANGED * count(connection, "SELECT count(DISTINCT chunk_id) FROM chunk")
    # Mentions are compared only when the few columns of the extractions leave it open.
    other = "FROM extractions_now ANTI JOIN extractions_before USING (source, chunk_id, extraction_key)"
    if count(connection, f"SELECT count(DISTINCT chunk_id) {other}") > most:
        return False
    run(connection, "find_changed_chunks")
    return count(connection, "SELECT count(*) FROM changed_chunk") <= most


def add_affected_evidence(connection: duckdb.DuckDBPyConnection, previous: Previous) -> dict[str, pa.Table]:
    """Add to the evidence of the changed chunks that of unchanged chunks in the same groups.

    Returns the tables of the last merge, which are read once, since decompressing them costs most.
    """
    before = {table: files.read_parquet(path) for table, path in previous.tables.items()}
    for table, rows in before.items():
        connection.register(f"{table}_before", rows)
    run(connection, "select_affected_groups")
    name_entities(
        connection,
        "SELECT src AS name FROM unchanged_relation_evidence UNION SELECT tgt FROM unchanged_relation_evidence",
    )
    connection.execute(
        "INSERT INTO relation_evidence SELECT e.*, a.entity_id, b.entity_id FROM unchanged_relation_evidence e"
        " JOIN entity_name a ON e.src = a.name JOIN entity_name b ON e.tgt = b.name"
    )
    return before


def concat_unaffected(
    connection: duckdb.DuckDBPyConnection, before: dict[str, pa.Table], merged: dict[str, pa.Table]
) -> dict[str, pa.Table]:
    """Return the merged rows together with those of the last merge that nothing affects."""
    reranked = fetch(connection, read_statement("rerank_relations"), RELATIONS)
    changed_chunks = _ids(connection, "changed_chunk")
    relation_ids = [*_ids(connection, "affected_relation").chunks, *reranked["relation_id"].chunks]
    replaced = {
        "entities": ("entity_id", _ids(connection, "affected_entity")),
        "relations": ("relation_id", pa.chunked_array(relation_ids, pa.string())),
        "entity_evidence": ("chunk_id", changed_chunks),
        "relation_evidence": ("chunk_id", changed_chunks),
    }
    merged = merged | {"relations": pa.concat_tables([merged["relations"], reranked])}
    unaffected = dict[str, pa.Table]()
    for table, (key, ids) in replaced.items():
        connection.unregister(f"{table}_before")  # Frees it: zeroing other memory takes longer than the filter.
        unaffected[table] = _without(before.pop(table), key, ids).cast(merged[table].schema)
    return {table: pa.concat_tables([unaffected[table], rows]) for table, rows in merged.items()}


def _ids(connection: duckdb.DuckDBPyConnection, table: str) -> pa.ChunkedArray:
    return connection.sql(f"FROM {table}").to_arrow_table().column(0)


def _without(rows: pa.Table, key: str, ids: pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[key], value_set=ids)))
