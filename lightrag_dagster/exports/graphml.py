"""GraphML: entities with their relations, which are undirected edges, and with their facts, which are directed ones.

They are two formats, as readers such as networkx refuse a graph that has both. A value is a node of its fact alone, so
that nothing hangs together because it costs the same.

GraphML: Brandes et al., "GraphML Progress Report", 2002. XML has no control characters except tab, line feed and
carriage return, and neither U+FFFE nor U+FFFF.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb

from lightrag_dagster.exports.written import FACTS_ALONE, GRAPH_ALONE, Written
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.storage.snapshots.generations import Generation

FILE = "graph.graphml"
FACTS_FILE = "facts.graphml"

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_BATCH = 2_048
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Readers make a line feed of carriage returns, and those of XML 1.1 of the last two.
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;", "\x85": "&#133;", "\u2028": "&#8232;"})


class _Attribute(NamedTuple):
    """An attribute: its name, its type, and what of a row it is."""

    name: str
    kind: Literal["string", "long", "double", "boolean"]
    column: str


_SHARED = {
    "description": _Attribute("description", "string", "description"),
    "sources": _Attribute("sources", "string", "array_to_string(sources, '; ')"),
    "mentions": _Attribute("mentions", "long", "mention_count"),
}

# Gephi draws what has the keys `label`, `edgelabel` and `weight`; some of its versions compare them with case.
_NODE = {
    "label": _Attribute("Label", "string", "name"),
    "type": _Attribute("type", "string", "type"),
    "degree": _Attribute("degree", "long", "degree"),
    **_SHARED,
}
_EDGE = {
    "edgelabel": _Attribute("Label", "string", "keywords"),
    "weight": _Attribute("Weight", "double", "weight"),
    **{f"edge_{key}": one for key, one in _SHARED.items()},
}
_Part = tuple[str, str, dict[str, str], dict[str, _Attribute]]
"""Element, table, its XML attributes from columns, and its data by key."""

_PARTS = (
    ("node", "entities", {"id": "entity_id"}, _NODE),
    ("edge", "relations", {"id": "relation_id", "source": "src_id", "target": "tgt_id"}, _EDGE),
)

_FACT_NODES = """(
    SELECT entity_id AS id, name, type, description FROM entities SEMI JOIN (
        SELECT subject_id AS entity_id FROM merged_facts UNION SELECT object_id FROM merged_facts
    ) USING (entity_id)
    UNION ALL
    SELECT fact_id || '-value', value, value_kind, NULL FROM merged_facts WHERE object_id IS NULL
)"""
_FACT = ("unit", "valid_from", "from_precision", "valid_to", "to_precision", "when_words")
_FACT_PARTS = (
    ("node", _FACT_NODES, {"id": "id"}, {key: _NODE[key] for key in ("label", "type", "description")}),
    (
        "edge",
        "merged_facts",
        {"id": "fact_id", "source": "subject_id", "target": "coalesce(object_id, fact_id || '-value')"},
        {
            "edgelabel": _Attribute("Label", "string", "relation"),
            "number": _Attribute("number", "double", "number"),
            **{name: _Attribute(name, "string", name) for name in _FACT},
            "single": _Attribute("single", "boolean", "lower(single::VARCHAR)"),
            "passes": _Attribute("passes", "string", "array_to_string(passes, '; ')"),
            **{f"edge_{key}": _SHARED[key] for key in ("sources", "mentions")},
        },
    ),
)


def write_graphml(generation: Generation, folder: Path) -> Written:
    """Write entities and relations into an empty folder, a few rows at a time.

    A character that XML cannot hold is written as U+FFFD, and counted in a note.

    Raises:
        StoreError: a table is missing or damaged.
        OSError: the disk refuses.
    """
    with open_tables(generation, ["entities", "relations"]) as connection:
        rows, notes = _write(connection, folder / FILE, generation.id, "undirected", _PARTS)
    return Written({FILE: rows}, (GRAPH_ALONE, *notes))


def write_facts(generation: Generation, folder: Path) -> Written:
    """Write facts, the entities that they are about and their values, as `write_graphml` does; raises as it."""
    with open_tables(generation, ["entities", "merged_facts"]) as connection:
        rows, notes = _write(connection, folder / FACTS_FILE, generation.id, "directed", _FACT_PARTS)
    return Written({FACTS_FILE: rows}, (FACTS_ALONE, *notes))


def _write(
    connection: duckdb.DuckDBPyConnection, path: Path, name: str, edges: str, parts: tuple[_Part, ...]
) -> tuple[int, list[str]]:
    """Write a graph; return its rows, and notes of what was lost."""
    rows = lost = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{_NAMESPACE}">\n')
        for element, _, _, data in parts:
            for key, (title, kind, _) in data.items():
                file.write(f'<key id="{key}" for="{element}" attr.name="{title}" attr.type="{kind}"/>\n')
        file.write(f'<graph id="{name}" edgedefault="{edges}">\n')
        for element, table, ends, data in parts:
            for row in _rows(connection, table, [*ends.values(), *(one.column for one in data.values())]):
                ids, values = row[: len(ends)], row[len(ends) :]
                text, replaced = _written(
                    element, dict(zip(ends, ids, strict=True)), dict(zip(data, values, strict=True))
                )
                file.write(text)
                lost += replaced
                rows += 1
        file.write("</graph>\n</graphml>\n")
    return rows, [f"characters that XML cannot hold, written as U+FFFD: {lost:,}"] * bool(lost)


def _rows(connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield some columns of a table in order of the first, which is its id."""
    for batch in connection.sql(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1").to_arrow_reader(_BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _written(element: str, ends: Mapping[str, str], data: Mapping[str, Any]) -> tuple[str, int]:
    """Return a node or an edge, and the number of characters that were replaced in it; ids are hashes."""
    attributes = "".join(f' {name}="{value}"' for name, value in ends.items())
    lines, lost = [f"<{element}{attributes}>"], 0
    for key, value in data.items():
        if value is None:
            continue
        text, replaced = _NOT_XML.subn("\ufffd", str(value))
        lines.append(f'<data key="{key}">{text.translate(_ESCAPED)}</data>')
        lost += replaced
    return "\n".join([*lines, f"</{element}>\n"]), lost
