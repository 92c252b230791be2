"""The rules of the merge over some evidence in memory, without a model, for rows under a filter."""

import duckdb
import pyarrow as pa

from lightrag_dagster.curation.rules import WrittenText
from lightrag_dagster.fact_schemas import MERGED_FACTS
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.names import register_written


def merge_evidence(
    entity_evidence: pa.Table,
    relation_evidence: pa.Table,
    chunks: pa.Table,
    settings: MergingSettings,
    written: tuple[WrittenText, ...] = (),
) -> tuple[pa.Table, pa.Table]:
    """Merge evidence as `open_merge` merges mentions, joining the longest descriptions where it would summarise.

    Args:
        entity_evidence: ENTITY_EVIDENCE of some entities, all that may be seen.
        relation_evidence: RELATION_EVIDENCE of some relations, all that may be seen. An end of them without entity
            evidence becomes an entity that only relations name.
        chunks: `source`, `path`, `chunk_index`, `chunk_id`, `doc_id` of the positions that may be seen; evidence of
            other chunks is left out.
        settings: Thresholds and limits.
        written: Names, types and descriptions of people that may be seen.

    Returns:
        ENTITIES and RELATIONS without provenance, degree, rank and hashes, rows in no order.

    Raises:
        StoreError: memory ran out.
    """
    with database.open_small_database(database.rule_variables(settings, "")) as connection, database.readable([]):
        connection.register("entity_mention", entity_evidence)
        connection.register("relation_mention", relation_evidence)
        connection.register("chunk", chunks)
        register_written(connection, written)
        return _merged(connection)


def merge_fact_evidence(evidence: pa.Table) -> pa.Table:
    """Return MERGED_FACTS of some FACT_EVIDENCE, all that may be seen; entities are called by their ids."""
    ids = pa.chunked_array([*evidence["subject_id"].chunks, *evidence["object_id"].drop_null().chunks], pa.string())
    with database.open_small_database({}) as connection, database.readable([]):
        connection.register("fact_evidence", evidence)
        connection.register("end_degree", pa.table({"entity_id": ids, "name": ids}))
        return database.fetch(connection, database.read_statement("merge_facts"), MERGED_FACTS)


def _merged(connection: duckdb.DuckDBPyConnection) -> tuple[pa.Table, pa.Table]:
    for step in ("seen", "endpoint", "group_entities", "group_relations"):
        database.run(connection, step)
    connection.execute("CREATE TEMP TABLE summary (id VARCHAR, summary VARCHAR, failed VARCHAR, recipe VARCHAR)")
    for step in ("shorten_descriptions", "describe_entities", "describe_relations"):
        database.run(connection, step)
    entities = "SELECT * EXCLUDE (descriptions, descriptions_hash, degree) FROM described_entity"
    relations = "SELECT * EXCLUDE (descriptions, descriptions_hash, rank) FROM described_relation"
    return connection.sql(entities).to_arrow_table(), connection.sql(relations).to_arrow_table()
