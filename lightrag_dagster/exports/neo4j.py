"""The graph as CSV for `neo4j-admin database import full`, with the header rules of its manual.

Its import of Parquet mixes up labels, so there is only CSV. Texts may have several lines; quotes in them are doubled.
"""

from pathlib import Path

import duckdb

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import one_line
from lightrag_dagster.exports.written import GRAPH_ALONE, Written
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.storage.duckdb import quoted
from lightrag_dagster.storage.snapshots.generations import Generation

SCRIPT = "import.sh"

_FILES = {"entities": "nodes", "relations": "relationships"}
_FACT_FILES = {"fact_values": "nodes", "facts": "relationships"}
"""Files, and what the import takes them for."""
_SPLIT = "SELECT count(DISTINCT one) FROM (SELECT unnest(sources) AS one FROM entities) WHERE contains(one, ';')"


def write_neo4j(generation: Generation, folder: Path) -> Written:
    """Write entities and relations as CSV, and facts if there are some, with the command that imports them.

    Raises:
        StoreError: a table is missing or damaged.
        OSError: the disk refuses.
    """
    rows: dict[str, int] = {}
    has_facts = generation.merges_passes()
    files = _FILES | (_FACT_FILES if has_facts else {})
    with open_tables(generation, ["entities", "relations", *["merged_facts"] * has_facts]) as connection:
        for name in files:
            rows[f"{name}.csv"] = _copy(connection, read_sql(__package__, f"sql/neo4j_{name}"), folder / f"{name}.csv")
        [(split,)] = connection.execute(_SPLIT).fetchall()
    named = " ".join(f"--{kind}={name}.csv" for name, kind in files.items())
    command = f"neo4j-admin database import full neo4j {named} --multiline-fields=true\n"
    (folder / SCRIPT).write_text(command, encoding="utf-8")
    note = f"sources whose name has a semicolon, which Neo4j takes for several: {split:,}"
    return Written(rows, (GRAPH_ALONE, note) if split else (GRAPH_ALONE,))


def _copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> int:
    """Write the rows of a query, and return their number."""
    try:
        copied = connection.execute(
            f"COPY ({query}) TO {quoted(path)} (FORMAT csv, HEADER, DELIMITER ',', FORCE_QUOTE *)"
        )
    except duckdb.IOException as error:
        raise OSError(one_line(error)) from error
    return int(copied.fetchall()[0][0])
