"""The content of a home's published snapshot as hashes, read in the same way by every version of the project.

`python contents.py` prints it, for the home that the environment names.
"""

import io
import json
import os
import sys
from contextlib import redirect_stdout
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import lancedb

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli import main

TABLES = (
    "raw_documents", "chunks", "extractions", "entity_mentions", "relation_mentions",
    "entities", "relations", "entity_evidence", "relation_evidence",
)  # fmt: skip
_GRAPH = {
    "nodes": "MATCH (n) RETURN label(n) AS label, count(*) AS number ORDER BY label",
    "edges": "MATCH ()-[r]->() RETURN label(r) AS label, count(*) AS number ORDER BY label",
}
_DIGITS = 5  # of a coordinate of a vector; processors differ in the last ones


def read_contents() -> dict[str, Any]:
    """Return rows and a hash of each column of each table, the same of each table of vectors, and counts of the graph.

    Rows are in the order of their values, so that neither the order of a file nor its compression counts.
    """
    tables = "; ".join(f"FROM {table} ORDER BY ALL" for table in TABLES)
    rows = [json.loads(line) for line in _output("sql", tables, "--format", "json").strip().split("\n")]
    with KnowledgeBase.open() as knowledge:
        return {
            "tables": {table: _columns(found) for table, found in zip(TABLES, rows, strict=True)},
            "vectors": _vectors(knowledge),
            "graph": {name: knowledge.cypher(query) for name, query in _GRAPH.items()},
        }


def _output(*arguments: str) -> str:
    """Return what the command line prints."""
    with patch.object(sys, "argv", ["lightrag-dagster", *arguments]), redirect_stdout(io.StringIO()) as output:
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise
    return output.getvalue()


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = rows[0] if rows else {}
    return {"rows": len(rows), "columns": {name: _hash([row[name] for row in rows]) for name in names}}


def _vectors(knowledge: KnowledgeBase) -> dict[str, Any]:
    found = {}
    database = lancedb.connect(f"{os.environ['LIGHTRAG_HOME']}/lance")
    for name, entry in knowledge.manifest.vectors.tables.items():
        table = database.open_table(entry.table)
        table.checkout(entry.tag)
        rows = table.to_arrow().sort_by("id").to_pylist()
        for row in rows:
            row["vector"] = [round(value, _DIGITS) for value in row["vector"]]
        found[name] = _columns(rows)
    return found


def _hash(values: list[Any]) -> str:
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_contents()))
