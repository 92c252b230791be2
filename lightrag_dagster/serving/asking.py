"""The questions behind tools and paths: each asks a base, and returns dictionaries with places."""

import json
from typing import Any

import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import text
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.serving import requests
from lightrag_dagster.stages.merging.summaries import SEPARATOR

_MOST = 20_000
"""Most characters of a document at once."""
_LONGEST_LIST = 1_000
"""Most documents of a list."""
_SHORT = 400
"""Most characters of a description among what a search finds; `entity` has all of it."""
_BY_RULES = "no language model is set, so these are sentences of the passages; read them"
_NO_WORD = "no passage has a word of the question, so these are only the least unlike it"
_INNER = {"tokens", "rank", "degree", "score", "rerank_score", "likeness"}


def lean(told: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary without empty and inner fields, at any depth; the parts of a description are lines."""
    kept = {name: _lean(one) for name, one in told.items() if name not in _INNER}
    if isinstance(said := kept.get("description"), str):
        kept["description"] = said.replace(SEPARATOR, "\n")
    return {name: one for name, one in kept.items() if one is not None and one not in ("", [], {})}


def _lean(told: Any) -> Any:
    if isinstance(told, dict):
        return lean(told)
    return [_lean(one) for one in told] if isinstance(told, list | tuple) else told


async def retrieve(base: KnowledgeBase, asked: requests.SearchRequest) -> dict[str, Any]:
    """Return all that is found for a question, without the steps, whose errors name hosts and models."""
    found = (await base.aretrieve(asked.query, **asked.options())).to_dict()
    return {name: one for name, one in found.items() if name != "steps"}


async def search(base: KnowledgeBase, asked: requests.FindRequest) -> dict[str, Any]:
    """Find passages, entities, relations and facts, best first."""
    if "top_k" not in asked.model_fields_set and "top_k" in MODES[asked.mode or base.settings.query.mode].ignores:
        asked = asked.model_copy(update={"top_k": None})  # else a note would say that it does nothing
    found = await retrieve(base, asked)
    for chunk in found["chunks"]:  # whose places are in its citations
        del chunk["doc_id"], chunk["source"], chunk["path"]
    told = lean({"notes": found.pop("notes"), "chunks": found.pop("chunks")} | found)
    for one in (*told.get("entities", ()), *told.get("relations", ())):
        if len(said := one.get("description", "")) > _SHORT:
            one["description"] = f"{said[:_SHORT]}… ({len(said) - _SHORT:,} more characters)"
    filters = asked.filters or Filters()  # and no model is asked
    words = await base.aretrieve(asked.query, mode="bm25", chunk_top_k=1, hops=0, rerank=False, filters=filters)
    return told if words.chunks else told | {"notes": [*told.get("notes", ()), _NO_WORD]}


async def answer(base: KnowledgeBase, asked: requests.SearchRequest) -> dict[str, Any]:
    """Have the base's own language model answer; it may cost money."""
    found = await base.aquery(asked.query, **asked.options())
    by_rules = [_BY_RULES] if base.settings.llm.of("answer").provider == "offline" else []
    references = [
        {"reference_id": one.reference_id, "document": one.file, "is_cited": one in found.cited}
        | {"passages": [{"chunk_id": each.chunk_id} for each in found.retrieval.passages(one)]}
        for one in found.cited or found.references
    ]
    told = {"snapshot_id": found.snapshot_id, "answer": found.text, "references": references}
    return told | {"notes": [*found.retrieval.notes, *by_rules]}


async def read(base: KnowledgeBase, asked: requests.ReadRequest) -> dict[str, Any]:
    """Read a passage, or a document: 20,000 characters, and where to go on; list sources, or the documents of one."""
    if not asked.id:
        return {"sources": await _rows(base, "sources")}
    if asked.id.startswith("chunk-") and (rows := await _rows(base, "passage", asked.id)):  # or a source is named so
        cited = [lean(row | {"content": None}) for row in rows]
        return {"chunk_id": asked.id, "content": rows[0]["content"], "citations": cited}
    if not (rows := await _rows(base, "document", asked.id)):
        return await _listed(base, asked)
    content = rows[0]["content"]
    start, end = _bounds(rows[0]["pages"], len(content), asked)
    start, stop = min(start, end), min(end, start + _MOST)
    told = lean(rows[0] | {"content": None, "pages": len(rows[0]["pages"] or ()) or None})
    told |= {"characters": len(content), "char_start": start, "char_end": stop, "content": content[start:stop]}
    return told | _rest(stop, end)


async def _listed(base: KnowledgeBase, asked: requests.ReadRequest) -> dict[str, Any]:
    """Return the documents of a source from a number on, and where to read on; raises QueryError."""
    rows = await _rows(base, "documents_of_source", asked.id, asked.start)
    if not rows:
        fewer = f", or it is a source of {asked.start:,} documents at most" if asked.start else ""
        raise QueryError(
            f"nothing has the id {asked.id!r}{fewer}; take a chunk_id, a doc_id or source/path of a result"
        )
    documents = [lean(row | {"number": None}) for row in rows]
    return {"documents": documents} | _rest(asked.start + len(rows), rows[0]["number"])


async def _rows(base: KnowledgeBase, statement: str, asked_id: str = "", start: int = 0) -> list[dict[str, Any]]:
    """Return the rows of a statement of this package about an id."""
    quoted = text(asked_id, "id").replace("'", "''")
    given = f"SET VARIABLE id = '{quoted}'; SET VARIABLE start = {start}; SET VARIABLE most = {_LONGEST_LIST};"
    rows: list[dict[str, Any]] = (await base.asql(given + read_sql(__package__, f"sql/{statement}"))).to_pylist()
    return rows


def _rest(stop: int, end: int) -> dict[str, int]:
    """Return where to read on, and how much is left out."""
    return {"next_start": stop, "left_out": end - stop} if stop < end else {}


def _bounds(pages: list[int] | None, length: int, asked: requests.ReadRequest) -> tuple[int, int]:
    if asked.page is None and asked.last_page is None:
        return asked.start, length
    begins, first = pages or [], asked.page or 1
    last = asked.last_page or first
    if not first <= last <= len(begins):
        has = f"{len(begins)}" if begins else "no"
        raise QueryError(f"the document has {has} pages, not {first} to {last}; start reads any from a character")
    return max(asked.start, begins[first - 1]), begins[last] if last < len(begins) else length


async def entity(base: KnowledgeBase, asked: requests.EntityRequest) -> dict[str, Any]:
    """Show an entity: names, quotes, newest first, and neighbours."""
    return lean((await base.aentity(asked.name, filters=asked.filters, limit=asked.limit)).to_dict())


async def path(base: KnowledgeBase, asked: requests.PathRequest) -> dict[str, Any]:
    """Find how two entities are related: paths, each step with a quote."""
    return lean((await base.apath(asked.start, asked.end, filters=asked.filters)).to_dict())


async def facts(base: KnowledgeBase, asked: requests.FactsRequest) -> dict[str, Any]:
    """List or count dated facts, with the words that state them, and those that contradict them."""
    shared: dict[str, Any] = {"filters": asked.filters, "limit": asked.limit, **asked.conditions()}
    if asked.count or asked.by:
        return lean((await base.acount(asked.subject, by=asked.by, **shared)).to_dict())
    return {"facts": []} | lean((await base.afacts(asked.subject, **shared)).to_dict())


async def changes(base: KnowledgeBase, asked: requests.ChangesRequest) -> dict[str, Any]:
    """List what changed since a snapshot."""
    snapshots = await _rows(base, "snapshots")
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
