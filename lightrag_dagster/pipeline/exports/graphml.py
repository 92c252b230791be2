"""The graph as GraphML: entities are nodes, relations are undirected edges.

GraphML: Brandes et al., "GraphML Progress Report", 2002. Gephi takes the attributes `Label` and `Weight` for what it
draws. XML has no control characters except tab and line feed, and no lone halves of characters.
"""

import re
from pathlib import Path
from typing import Any

from lxml import etree

from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.exports.written import GRAPH_ALONE, Written
from lightrag_dagster.storage.snapshots.generations import Generation

FILE = "graph.graphml"

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_NODE = {
    "Label": ("string", "name"),
    "type": ("string", "type"),
    "description": ("string", "description"),
    "sources": ("string", "array_to_string(sources, '; ')"),
    "mentions": ("long", "mention_count"),
    "degree": ("long", "degree"),
}
_EDGE = {
    "Label": ("string", "keywords"),
    "Weight": ("double", "weight"),
    "description": ("string", "description"),
    "sources": ("string", "array_to_string(sources, '; ')"),
    "mentions": ("long", "mention_count"),
}
"""Attribute → its type, and the column that it is taken from."""

_BATCH = 2_048
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\ufffd"


def write_graphml(generation: Generation, folder: Path) -> Written:
    """Write the graph into an empty folder, a few rows at a time.

    A character that XML cannot hold is written as U+FFFD, and counted in a note.

    Raises:
        StoreError: a table is missing or damaged.
        OSError: the disk refuses.
    """
    lost = 0
    with (
        open_tables(generation, ["entities", "relations"]) as connection,
        (folder / FILE).open("wb") as stream,
        etree.xmlfile(stream, encoding="utf-8") as file,
    ):
        file.write_declaration()
        with file.element("graphml", nsmap={None: _NAMESPACE}):
            for kind, attributes in (("node", _NODE), ("edge", _EDGE)):
                for name, (of_type, _) in attributes.items():
                    key = {"id": f"{kind}_{name}", "for": kind, "attr.name": name, "attr.type": of_type}
                    file.write(etree.Element("key", key), pretty_print=True)
            with file.element("graph", id=generation.id, edgedefault="undirected"):
                counts = []
                for kind, attributes, ends, table in (
                    ("node", _NODE, "entity_id AS id", "entities"),
                    ("edge", _EDGE, "relation_id AS id, src_id AS source, tgt_id AS target", "relations"),
                ):
                    columns = ", ".join(f'{column} AS "data_{name}"' for name, (_, column) in attributes.items())
                    rows = connection.sql(f"SELECT {ends}, {columns} FROM {table} ORDER BY id")
                    counts.append(0)
                    for batch in rows.to_arrow_reader(_BATCH):
                        for row in batch.to_pylist():
                            element, dropped = _element(kind, row)
                            file.write(element, pretty_print=True)
                            lost += dropped
                        counts[-1] += batch.num_rows
    note = f"characters that XML cannot hold, written as U+FFFD: {lost:,}"
    return Written({FILE: sum(counts)}, (GRAPH_ALONE, note) if lost else (GRAPH_ALONE,))


def _element(kind: str, row: dict[str, Any]) -> tuple[etree._Element, int]:
    """Return a node or an edge, and the number of characters that were replaced in it."""
    attributes = {name: value for name, value in row.items() if not name.startswith("data_")}
    element, lost = etree.Element(kind, attributes), 0
    for name, value in row.items():
        if name.startswith("data_") and value is not None:
            text, replaced = _NOT_XML.subn(_REPLACEMENT, str(value))
            data = etree.SubElement(element, "data", key=f"{kind}_{name.removeprefix('data_')}")
            data.text, lost = text, lost + replaced
    return element, lost
