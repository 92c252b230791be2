"""The rules of the merge over some evidence in memory, without a model: how rows look when only part may be seen."""

import duckdb
import pyarrow as pa

from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.merge import collect_mentions, group_evidence


def merge_evidence(
    entity_evidence: pa.Table, relation_evidence: pa.Table, chunks: pa.Table, settings: MergingSettings
) -> tuple[pa.Table, pa.Table]:
    """Merge evidence as `open_merge` merges mentions, joining the longest descriptions where it would summarise.

    Args:
        entity_evidence: ENTITY_EVIDENCE of some entities, all that may be seen.
        relation_evidence: RELATION_EVIDENCE of some relations, all that may be seen. An end of them without entity
            evidence becomes an entity that only relations name.
        chunks: `source`, `path`, `chunk_index`, `chunk_id`, `doc_id` of the positions that may be seen; evidence of
            other chunks is left out.
        settings: Thresholds and limits.

    Returns:
        ENTITIES and RELATIONS without provenance, degree, rank and fingerprints, rows in no order.

    Raises:
        StoreError: memory ran out.
    """
    with database.open_small_database(database.rule_variables(settings, "")) as connection, database.readable([]):
        connection.register("entity_mention", entity_evidence)
        connection.register("relation_mention", relation_evidence)
        connection.register("chunk", chunks)
        return _merged(connection)


def _merged(connection: duckdb.DuckDBPyConnection) -> tuple[pa.Table, pa.Table]:
    database.run(connection, "positions")
    connection.execute(
        "CREATE TEMP TABLE chosen_extraction AS SELECT chunk_id, source, extraction_key FROM entity_mention"
        " UNION SELECT chunk_id, source, extraction_key FROM relation_mention"
    )
    collect_mentions(connection)
    group_evidence(connection)
    database.run(connection, "shorten_descriptions")
    entities, relations = (
        connection.sql(f"SELECT * EXCLUDE (text_fingerprint) FROM {name}").to_arrow_table()
        for name in ("described_entity", "described_relation")
    )
    return entities, relations
