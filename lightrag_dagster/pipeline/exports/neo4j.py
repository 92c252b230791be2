"""The graph as CSV for `neo4j-admin database import full`, with the header rules of its manual.

Its import of Parquet mixes up labels, so there is only CSV. Texts may have several lines; quotes in them are doubled.
"""

from pathlib import Path

import duckdb

from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.exports.written import Written
from lightrag_dagster.storage.snapshots.generations import Generation

_ARRAY = ";"
_NODES = """
SELECT entity_id AS "entity_id:ID", name, type, description, mention_count AS "mention_count:long",
    degree AS "degree:long", array_to_string(sources, ';') AS "sources:string[]", 'Entity' AS ":LABEL"
FROM entities ORDER BY entity_id
"""
_RELATIONSHIPS = """
SELECT src_id AS ":START_ID", tgt_id AS ":END_ID", relation_id, keywords, description, weight AS "weight:double",
    mention_count AS "mention_count:long", array_to_string(sources, ';') AS "sources:string[]", 'RELATED' AS ":TYPE"
FROM relations ORDER BY relation_id
"""
_COMMAND = """\
neo4j-admin database import full neo4j --nodes=entities.csv --relationships=relations.csv --multiline-fields=true
"""


def write_neo4j(generation: Generation, folder: Path) -> Written:
    """Write `entities.csv`, `relations.csv` and the command that imports them into an empty folder.

    Raises:
        StoreError: a table is missing or damaged.
        OSError, duckdb.Error: the disk refuses.
    """
    rows: dict[Path, int] = {}
    with open_tables(generation, ["entities", "relations"]) as connection:
        for name, query in (("entities", _NODES), ("relations", _RELATIONSHIPS)):
            path = folder / f"{name}.csv"
            place = str(path).replace("'", "''")
            connection.execute(f"COPY ({query}) TO '{place}' (FORMAT csv, HEADER, DELIMITER ',', FORCE_QUOTE *)")
            rows[path] = _count(connection, f"SELECT count(*) FROM {name}")
        split = _count(
            connection,
            f"SELECT count(DISTINCT source) FROM (SELECT unnest(sources) AS source FROM entities) "
            f"WHERE contains(source, '{_ARRAY}')",
        )
    script = folder / "import.sh"
    script.write_text(_COMMAND, encoding="utf-8")
    note = f"sources whose name has a semicolon, which Neo4j takes for several: {split:,}"
    return Written(rows | {script: 1}, (note,) if split else ())


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.sql(query).fetchall()[0][0])
