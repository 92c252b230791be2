"""Additions of people, as a source of its own with a document each, so that it is cited as any other evidence.

It has no folder and no partition: its tables are made from the decisions, and no model is asked about them.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from lightrag_dagster.core.identity import chunk_id, digest, document_id, text_digest
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.curation.rules.decisions import Decision, type_as_read
from lightrag_dagster.curation.rules.resolving import Curation
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables, version_of_rows

CURATION = "curation"
"""The source of what people added."""

_RECIPE = "decisions"
_BETWEEN = " — "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def additions_of(curation: Curation, encoding: str) -> dict[str, dict[str, str]]:
    """Return the version of each table of the source, by source; empty if nothing was added.

    `encoding` counts tokens.
    """
    tables = _tables(curation, encoding)
    return {CURATION: {name: version_of_rows(name, rows) for name, rows in tables.items()}} if tables else {}


def store_additions(home: Home, curation: Curation, encoding: str) -> None:
    """Store the tables of what was added; raises StoreError."""
    for name, rows in _tables(curation, encoding).items():
        SourceTables(home).write(name, CURATION, rows, inputs={}, recipe=_RECIPE)


def _tables(curation: Curation, encoding: str) -> dict[str, pa.Table]:
    if not curation.added:
        return {}
    made: dict[str, list[dict[str, object]]] = {name: [] for name in SOURCE_TABLES}
    for decision in curation.added:
        for name, row in _rows(decision, load_tokenizer(encoding).counts).items():
            made[name].append(row)
    return {name: pa.Table.from_pylist(rows, SOURCE_TABLES[name]) for name, rows in made.items()}


def _rows(decision: Decision, count_tokens: Callable[[list[str]], list[int]]) -> dict[str, dict[str, object]]:
    """Return the rows of one added entity or relation, by table."""
    name, text = _BETWEEN.join(decision.names), decision.text or ""
    is_relation = len(decision.names) == 2
    # Two additions never share a path, nor one a chunk with a document of the same text.
    is_plain = "/" not in name and name.count(_BETWEEN) == len(decision.names) - 1
    path = name.replace("/", "_") + ("" if is_plain else f" {digest(decision.names)[:8]}")
    content = f"{name}\n\n{text}" if text else name
    context = "A relation that a person added." if is_relation else "An entity that a person added."
    doc_id, chunk = document_id(CURATION, path), chunk_id(content, None, context)
    of_chunk = {"source": CURATION, "chunk_id": chunk, "extraction_key": digest(_RECIPE, decision.content)}
    document = {
        "source": CURATION,
        "doc_id": doc_id,
        "path": path,
        "title": name,
        "content": content,
        "content_hash": text_digest(content),
        "content_length": len(content),
        "summary": content[:250],
        "media_type": "text/plain",
        "status": "processed",
        "modified_at": _EPOCH,
    }
    place = {
        "source": CURATION,
        "chunk_id": chunk,
        "doc_id": doc_id,
        "path": path,
        "chunk_index": 0,
        "content": content,
        "context": context,
        "tokens": count_tokens([content])[0],
        "char_start": 0,
        "char_end": len(content),
        "text_hash": text_digest(content),
        "recipe": _RECIPE,
    }
    counted = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
    answered = {"model": "a person", "responses": [], "rounds": 0, "status": "ok", "recipe": _RECIPE}
    rows: dict[str, dict[str, object]] = {
        "raw_documents": document,
        "chunks": place,
        "extractions": of_chunk | answered | counted,
        "parsed": of_chunk | {"entities": int(not is_relation), "relations": int(is_relation), "rejected_rows": 0},
    }
    return rows | _mention(decision, of_chunk | {"mention_index": 0, "description": text})


def _mention(decision: Decision, mention: dict[str, object]) -> dict[str, dict[str, object]]:
    """Return the mention of an added entity, or of a relation, by its table."""
    if len(decision.names) == 1:
        named = {"name": decision.names[0], "type": type_as_read(decision.type)}
        return {"entity_mentions": mention | named}
    src, tgt = decision.names
    ends = {"src": src, "tgt": tgt, "keywords": decision.keywords or "", "weight": 1.0}
    return {"relation_mentions": mention | ends}
