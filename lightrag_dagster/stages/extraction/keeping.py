"""Keeping the mentions of extractions that did not change."""

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.schemas import ENTITY_MENTIONS, RELATION_MENTIONS
from lightrag_dagster.storage.tables import SourceTables

_PARSED = ["chunk_id", "extraction_key", "status", "responses"]


def keep_mentions(
    tables: SourceTables, source: str, extractions: pa.Table, fingerprint: str
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Divide extractions into those that were parsed as they are and those that are left to be parsed.

    Args:
        tables: The tables of the home.
        source: Whose extractions they are.
        extractions: Rows of EXTRACTIONS now.
        fingerprint: The rules of parsing.

    Returns:
        ENTITY_MENTIONS and RELATION_MENTIONS of the former and EXTRACTIONS of the latter, which are all of them unless
        both current tables were parsed by these rules, from one version of the extractions that is still there.

    Raises:
        StoreError: a table is damaged.
    """
    parsed = [tables.current(name, source) for name in ("entity_mentions", "relation_mentions")]
    made_from = {(one.inputs["extractions"], one.fingerprint) if one else None for one in parsed}
    earlier = next((one.inputs["extractions"] for one in parsed if one), "")
    if made_from != {(earlier, fingerprint)} or not tables.path("extractions", source, earlier).exists():
        return ENTITY_MENTIONS.empty_table(), RELATION_MENTIONS.empty_table(), extractions
    with duckdb.connect() as connection:
        connection.register("now", extractions.select(_PARSED))
        connection.register("earlier", tables.read("extractions", source, earlier, _PARSED))
        same = connection.sql(f"SELECT chunk_id FROM now SEMI JOIN earlier USING ({', '.join(_PARSED)})")
        chunks = same.to_arrow_table()["chunk_id"]
    entities, relations = (
        rows.filter(pc.is_in(rows["chunk_id"], value_set=chunks))
        for rows in (tables.read(one.table, source, one.version) for one in parsed if one)
    )
    return entities, relations, extractions.filter(pc.invert(pc.is_in(extractions["chunk_id"], value_set=chunks)))
