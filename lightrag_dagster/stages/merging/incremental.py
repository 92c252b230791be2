"""The merge that follows a change: groups that a changed chunk touches are merged anew, all others taken over.

A chunk is changed when a position or a mention of it is not what the last merge read. The evidence of a chunk depends
on that chunk alone; a row depends on the evidence of its group, and on names and degrees of its neighbours. Hence the
result equals a merge of everything.
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
    """Say whether the changed chunks are few enough to follow them, and collect them in `changed_chunk` then."""
    for table in ("chunks", "entity_mentions", "relation_mentions"):
        now, before = (set(map(attrgetter(table), state)) for state in (inputs, previous.inputs))
        view_files(connection, f"{table}_now", SOURCE_TABLES[table], now - before)
        view_files(connection, f"{table}_before", SOURCE_TABLES[table], before - now)
    most = MOST_CHANGED * count(connection, "SELECT count(DISTINCT chunk_id) FROM chunk")
    # Every row is compared only where that may end well.
    if count(connection, read_statement("count_new_extractions")) > most:
        return False
    run(connection, "find_changed_chunks")
    return count(connection, "SELECT count(*) FROM changed_chunk") <= most


def recall_evidence(connection: duckdb.DuckDBPyConnection, previous: Previous) -> dict[str, pa.Table]:
    """Add to the evidence of the changed chunks what else was said of the groups that they touch.

    Returns the merged tables of the last merge, which are read once, since to decompress them is what costs most.
    """
    before = {table: files.read_parquet(path) for table, path in previous.tables.items()}
    for table, rows in before.items():
        connection.register(f"{table}_before", rows)
    run(connection, "touch_groups")
    name_entities(connection, "SELECT src AS name FROM recalled UNION SELECT tgt FROM recalled")
    run(connection, "recall_relations")
    return before


def with_the_rest(
    connection: duckdb.DuckDBPyConnection, before: dict[str, pa.Table], fresh: dict[str, pa.Table]
) -> dict[str, pa.Table]:
    """Return the merged tables: the fresh rows, and those of the last merge that nothing touches."""
    reranked = fetch(connection, read_statement("rerank_relations"), RELATIONS)
    changed_chunks = _ids(connection, "changed_chunk")
    replaced = {
        "entities": ("entity_id", _ids(connection, "touched_entity")),
        "relations": (
            "relation_id",
            pa.chunked_array(
                [*_ids(connection, "touched_relation").chunks, *reranked["relation_id"].chunks], pa.string()
            ),
        ),
        "entity_evidence": ("chunk_id", changed_chunks),
        "relation_evidence": ("chunk_id", changed_chunks),
    }
    fresh = fresh | {"relations": pa.concat_tables([fresh["relations"], reranked])}
    kept = dict[str, pa.Table]()
    for table, (key, ids) in replaced.items():
        connection.unregister(f"{table}_before")  # Frees it: zeroing other memory takes longer than the filter.
        kept[table] = _without(before.pop(table), key, ids).cast(fresh[table].schema)
    return {table: pa.concat_tables([kept[table], rows]) for table, rows in fresh.items()}


def _ids(connection: duckdb.DuckDBPyConnection, table: str) -> pa.ChunkedArray:
    return connection.sql(f"FROM {table}").to_arrow_table().column(0)


def _without(rows: pa.Table, key: str, ids: pa.ChunkedArray) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[key], value_set=ids)))
