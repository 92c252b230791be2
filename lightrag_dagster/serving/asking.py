"""The questions behind the tools: each asks a base, and returns dictionaries with places, without empty fields."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import text
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving import requests

_MOST = 20_000
"""Most characters of a document at once."""
_LONGEST_LIST = 1_000
"""Most documents of a list."""
_SHORT = 400
"""Most characters of a description among what a search finds; `entity` has all of it."""
_BY_RULES = "no language model is set, so these are sentences of the passages; read them"
_NO_WORD = "no passage has a word of the question, so these are only the least unlike it"
_INNER = {"tokens", "rank", "degree", "score", "rerank_score", "likeness"}

_PASSAGE = """
SELECT source, path, doc_id, chunk_index, content, heading, page, page_end, char_start, char_end
FROM chunks WHERE chunk_id = {id} ORDER BY source, path, chunk_index
"""
_DOCUMENT = """
SELECT source, path, doc_id, title, content, pages, date::VARCHAR AS date, author, status, error
FROM raw_documents WHERE doc_id = {id} OR source || '/' || path = {id}
"""


_SNAPSHOTS = "SELECT snapshot_id, published_at::VARCHAR AS published_at FROM snapshots ORDER BY sequence"
_NUMBER = "SELECT count(*)::BIGINT AS documents FROM raw_documents WHERE source = {id}"
_SOURCES = """
SELECT source, count(*) AS documents, sum(content_length)::BIGINT AS characters
FROM raw_documents GROUP BY source ORDER BY source
"""
_LISTED = """
SELECT source || '/' || path AS document, title, content_length AS characters, date::VARCHAR AS date,
    modified_at::DATE::VARCHAR AS modified, nullif(status, 'processed') AS status
FROM raw_documents WHERE source = {id} ORDER BY path LIMIT {most} OFFSET {start}
"""


def lean(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary without empty and inner fields, at any depth."""
    kept = {name: _lean(one) for name, one in told.items() if name not in _INNER}
    return {name: one for name, one in kept.items() if one is not None and one not in ("", [], {})}


def _lean(told: Any) -> Any:
    if isinstance(told, dict):
        return lean(told)
    return [_lean(one) for one in told] if isinstance(told, list | tuple) else told


async def search(base: KnowledgeBase, asked: requests.SearchRequest) -> dict[str, Any]:
    """Return what is found for a question; the place of a passage is in its citations."""
    found = (await base.aretrieve(asked.query, **asked.options())).to_dict()
    del found["steps"]
    for chunk in found["chunks"]:
        del chunk["doc_id"], chunk["source"], chunk["path"]
    for one in (*found["entities"], *found["relations"]):
        if len(said := one["description"]) > _SHORT:
            one["description"] = f"{said[:_SHORT]}… ({len(said) - _SHORT:,} more characters)"
    told = lean({"notes": found.pop("notes"), "chunks": found.pop("chunks")} | found)
    filters = asked.filters or Filters()  # and no model is asked
    words = await base.aretrieve(asked.query, mode="bm25", chunk_top_k=1, hops=0, rerank=False, filters=filters)
    return told if words.chunks else told | {"notes": [*told.get("notes", ()), _NO_WORD]}


async def answer(base: KnowledgeBase, asked: requests.SearchRequest) -> dict[str, Any]:
    """Return an answer, the documents that it cites, and the passages of these that it was given."""
    found = await base.aquery(asked.query, **asked.options())
    by_rules = [_BY_RULES] if base.settings.llm.of("answer").provider == "offline" else []
    references = [
        {"reference_id": one.reference_id, "document": one.file, "is_cited": one in found.cited}
        | {"passages": [{"chunk_id": each.chunk_id} for each in found.retrieval.passages(one)]}
        for one in found.cited or found.references
    ]
    return {
        "snapshot_id": found.snapshot_id,
        "answer": found.text,
        "references": references,
        "notes": [*found.retrieval.notes, *by_rules],
    }


async def read(base: KnowledgeBase, asked: requests.ReadRequest) -> dict[str, Any]:
    """Return a passage with every place, a part of a document and where to read on, or a list; raises QueryError."""
    if not asked.id:
        return {"sources": (await base.asql(_SOURCES)).to_pylist()}
    quoted = "'" + text(asked.id, "id").replace("'", "''") + "'"
    statement = _PASSAGE if asked.id.startswith("chunk-") else _DOCUMENT
    rows = (await base.asql(statement.format(id=quoted))).to_pylist()
    if not rows:
        return await _listed(base, asked, quoted)
    content = rows[0]["content"]
    if statement is _PASSAGE:
        return {"chunk_id": asked.id, "content": content, "citations": [lean(row | {"content": None}) for row in rows]}
    start, end = _bounds(rows[0]["pages"], len(content), asked)
    stop = min(end, start + _MOST)
    told = lean(rows[0] | {"content": None, "pages": len(rows[0]["pages"] or ()) or None})
    told |= {"characters": len(content), "char_start": start, "char_end": stop, "content": content[start:stop]}
    return told | ({"next_start": stop, "left_out": end - stop} if stop < end else {})


async def _listed(base: KnowledgeBase, asked: requests.ReadRequest, quoted: str) -> dict[str, Any]:
    """Return the documents of a source from a number on, and where to read on; raises QueryError."""
    number = (await base.asql(_NUMBER.format(id=quoted)))["documents"][0].as_py()
    if not number:
        raise QueryError(f"nothing has the id {asked.id!r}; take a chunk_id, a doc_id or source/path of a result")
    if asked.start >= number:
        raise QueryError(f"source {asked.id!r} has {number:,} documents; start passes over fewer")
    rows = await base.asql(_LISTED.format(id=quoted, start=asked.start, most=_LONGEST_LIST))
    stop = asked.start + rows.num_rows
    told: dict[str, Any] = {"documents": [lean(row) for row in rows.to_pylist()]}
    return told | ({"next_start": stop, "left_out": number - stop} if stop < number else {})


def _bounds(pages: list[int] | None, length: int, asked: requests.ReadRequest) -> tuple[int, int]:
    if asked.page is None:
        return asked.start, length
    begins, last = pages or [], max(asked.page, asked.last_page or 0)
    if last > len(begins):
        has = f"{len(begins)}" if begins else "no"
        raise QueryError(f"the document has {has} pages; start reads any from a character")
    return max(asked.start, begins[asked.page - 1]), begins[last] if last < len(begins) else length


async def entity(base: KnowledgeBase, asked: requests.EntityRequest) -> dict[str, Any]:
    """Return all about an entity."""
    found = await base.aentity(asked.name, filters=asked.filters, limit=asked.limit)
    return lean(found.to_dict())


async def path(base: KnowledgeBase, asked: requests.PathRequest) -> dict[str, Any]:
    """Return the paths between two entities."""
    found = await base.apath(asked.start, asked.end, filters=asked.filters)
    return lean(found.to_dict())


async def facts(base: KnowledgeBase, asked: requests.FactsRequest) -> dict[str, Any]:
    """Return facts, or numbers of facts."""
    shared: dict[str, Any] = {"filters": asked.filters, "limit": asked.limit, **asked.conditions()}
    if asked.count or asked.by:
        return lean((await base.acount(asked.subject, by=asked.by, **shared)).to_dict())
    return {"facts": []} | lean((await base.afacts(asked.subject, **shared)).to_dict())


async def changes(base: KnowledgeBase, asked: requests.ChangesRequest) -> dict[str, Any]:
    """Return what differs since a snapshot."""
    snapshots = (await base.asql(_SNAPSHOTS)).to_pylist()
    if asked.before is None and base.snapshot_id == snapshots[0]["snapshot_id"]:
        return {"changes": [], "notes": ["no earlier snapshot is kept to compare with"], "snapshots": snapshots}
    found = await base.achanges(asked.before)
    kinds = pc.binary_join_element_wise(found["kind"], found["change"], " ").value_counts().to_pylist()
    shown = [
        lean(row) | {end: json.loads(row[end]) for end in ("before", "after") if row[end]}  # degree and rank included
        for row in found.slice(0, asked.limit).to_pylist()
    ]
    return {
        "numbers": {one["values"]: one["counts"] for one in kinds},
        "changes": shown,
        "left_out": found.num_rows - len(shown),
        "snapshots": snapshots,
    }
