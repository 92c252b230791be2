"""Results of questions as tools give them: what an agent needs, without empty fields and inner numbers."""

import asyncio
import json
from typing import Any

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.types import Answer, Chunk, Retrieval

_INNER = {"tokens", "rank", "degree", "score", "rerank_score", "snapshot_id", "likeness"}
_NOTHING: tuple[object, ...] = (None, "", (), [], {})


def lean(told: Any) -> Any:
    """Return dictionaries without empty and inner fields."""
    if isinstance(told, dict):
        return {name: lean(one) for name, one in told.items() if name not in _INNER and one not in _NOTHING}
    return [lean(one) for one in told] if isinstance(told, list | tuple) else told


def found(retrieval: Retrieval) -> dict[str, Any]:
    """Return what a search found; the place of a passage is in its citations."""
    told: dict[str, Any] = lean(retrieval.to_dict())
    told.pop("steps", None)
    for chunk in told.get("chunks", ()):
        for name in ("doc_id", "source", "path"):
            chunk.pop(name, None)
    return told


def answered(answer: Answer) -> dict[str, Any]:
    """Return an answer, the documents that it cites, and the places of the passages that it was given of these."""
    cited = answer.cited or answer.references
    references = [
        {"reference_id": one.reference_id, "document": one.file}
        | {"passages": [_place(chunk) for chunk in answer.retrieval.passages(one)]}
        for one in cited
    ]
    told = {"answer": answer.text, "references": references, "cited": bool(answer.cited)}
    return told | lean({"invalid_citations": answer.invalid_citations or None, "notes": answer.retrieval.notes})


def _place(chunk: Chunk) -> dict[str, Any]:
    first = chunk.citations[0]
    return {"chunk_id": chunk.chunk_id} | lean(
        {"heading": first.heading, "page": first.page, "page_end": first.page_end, "date": first.date}
        | {"char_start": first.char_start, "char_end": first.char_end}
    )


async def changed(base: KnowledgeBase, before: str | None, limit: int) -> dict[str, Any]:
    """Return what differs since a snapshot; raises as `KnowledgeBase.changes`."""
    rows = (await asyncio.to_thread(base.changes, before)).to_pylist()
    numbers: dict[str, int] = {}
    for row in rows:
        name = f"{row['kind']} {row['change']}"
        numbers[name] = numbers.get(name, 0) + 1
    shown = [row | {end: json.loads(row[end]) if row[end] else None for end in ("before", "after")} for row in rows]
    return {"numbers": numbers, "changes": lean(shown[:limit]), "left_out": max(0, len(rows) - limit)}
