"""The part of LightRAG's API that asks: its fields, its defaults and the forms of its answers (1.5.7).

What asks LightRAG by HTTP so asks this. A field or mode that is not here is refused by its name.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES, ModeName
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.steps.context import context_of, prompt_of
from lightrag_dagster.query.types import Reference, Retrieval
from lightrag_dagster.serving.arguments import options_of
from lightrag_dagster.stages.prompts import NO_CONTEXT

_MOST_CHARACTERS, _MOST_ROWS, _MOST_TOKENS = 65_536, 1000, 1_000_000


class QueryRequest(BaseModel):
    """A question as LightRAG takes it; modes fusion, ppr and bm25 are taken besides."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(max_length=_MOST_CHARACTERS)
    mode: ModeName = "mix"
    only_need_context: bool | None = None
    only_need_prompt: bool | None = None
    response_type: str | None = Field(None, min_length=1, max_length=256)
    top_k: int | None = Field(None, ge=1, le=_MOST_ROWS)
    chunk_top_k: int | None = Field(None, ge=1, le=_MOST_ROWS)
    max_entity_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    max_relation_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    max_total_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    hl_keywords: list[str] = Field([], max_length=64)
    ll_keywords: list[str] = Field([], max_length=64)
    conversation_history: list[dict[str, Any]] | None = Field(None, max_length=128)
    user_prompt: str | None = Field(None, max_length=_MOST_CHARACTERS)
    disable_user_prompt_prefix: bool | None = Field(None, description="Without effect: there is no prefix here.")
    enable_rerank: bool | None = None
    include_references: bool | None = True
    include_chunk_content: bool | None = False
    include_progress: Literal[False] | None = Field(False, description="Not here: true is refused.")
    stream: bool | None = Field(None, description="False has /query/stream answer in one line; else without effect.")

    @field_validator("conversation_history")
    @classmethod
    def _messages(cls, history: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        if not all(isinstance(one.get(name), str) for one in history or () for name in ("role", "content")):
            raise ValueError("each message needs a role and a content, both texts")
        return history

    def options(self) -> QueryOptions:
        """Return the options of the question; raises QueryError."""
        names = ("mode", "response_type", "top_k", "chunk_top_k", "user_prompt")
        tokens = ("max_entity_tokens", "max_relation_tokens", "max_total_tokens")
        given = {name: value for name in (*names, *tokens) if (value := getattr(self, name)) is not None}
        if self.enable_rerank is not None:
            given["rerank"] = self.enable_rerank
        if self.conversation_history:
            given["history"] = [Message(one["role"], one["content"]) for one in self.conversation_history]
        return options_of(given, None, self.hl_keywords, self.ll_keywords)


class ReferenceItem(BaseModel):
    """A document that the answer may cite, with its passages where they were asked for."""

    reference_id: str
    file_path: str
    content: list[str] | None = None


class QueryResponse(BaseModel):
    """An answer."""

    response: str
    references: list[ReferenceItem] | None = None
    response_time: float | None = None
    llm_generated: bool = True


class QueryDataResponse(BaseModel):
    """What was found for a question."""

    status: str
    message: str
    data: dict[str, Any]
    metadata: dict[str, Any]


async def answer(base: KnowledgeBase, asked: QueryRequest) -> QueryResponse:
    """Answer a question, or return its context or prompt; raises as `KnowledgeBase.query`."""
    began = time.perf_counter()
    if asked.only_need_context or asked.only_need_prompt:
        text, retrieval = await _without_answer(base, asked)
        generated = False
    else:
        found = await base.aquery(asked.query, **asked.options())
        text, retrieval, generated = found.text, found.retrieval, found.text != NO_CONTEXT
    return QueryResponse(
        response=text,
        references=_references(asked, retrieval),
        response_time=round(time.perf_counter() - began, 3),
        llm_generated=generated,
    )


async def data(base: KnowledgeBase, asked: QueryRequest) -> QueryDataResponse:
    """Return what is found for a question; raises as `KnowledgeBase.retrieve`."""
    found = await base.aretrieve(asked.query, **asked.options())
    files = {one.reference_id: one.file for one in found.references}
    keywords = {"high_level": list(found.keywords.high_level), "low_level": list(found.keywords.low_level)}
    info = {f"final_{name}_count": len(getattr(found, of)) for name, of in _COUNTED.items()}
    metadata = {"query_mode": found.mode, "keywords": keywords, "processing_info": info}
    if found.empty and MODES[found.mode].retrieves:
        return QueryDataResponse(status="failure", message="Nothing was found", data={}, metadata=metadata)
    rows = {
        "entities": [_entity(one.name, one.type, one.description) for one in found.entities],
        "relationships": [
            {"src_id": one.src, "tgt_id": one.tgt, "description": one.description, "keywords": one.keywords}
            | {"weight": one.weight}
            | _NOWHERE
            for one in found.relations
        ],
        "chunks": [
            {"reference_id": one.reference_id, "content": one.content, "chunk_id": one.chunk_id}
            | {"file_path": files.get(one.reference_id, f"{one.source}/{one.path}")}
            for one in found.chunks
        ],
        "references": [_reference(one) for one in found.references],
    }
    return QueryDataResponse(status="success", message="Found", data=rows, metadata=metadata)


async def stream(base: KnowledgeBase, asked: QueryRequest) -> AsyncIterator[dict[str, Any]]:
    """Yield an answer as lines: the references, then pieces of text; raises as `KnowledgeBase.query`."""
    if asked.stream is False or asked.only_need_context or asked.only_need_prompt:
        whole = await answer(base, asked)
        yield whole.model_dump(include={"response", "references", "llm_generated"}, exclude_none=True)
        return
    retrieval = await base.aretrieve(asked.query, **asked.options())
    if (references := _references(asked, retrieval)) is not None:
        yield {"references": [one.model_dump(exclude_none=True) for one in references]}
    async for piece in base.astream(asked.query, **asked.options()):
        yield {"response": piece}


_COUNTED = {"entities": "entities", "relations": "relations", "merged_chunks": "chunks"}
_NOWHERE = {"source_id": "", "file_path": "unknown_source", "created_at": ""}
"""Places of entities and relations, which a retrieval does not list; `/retrieve` cites them by chunk."""


def _entity(name: str, kind: str, description: str) -> dict[str, Any]:
    return {"entity_name": name, "entity_type": kind, "description": description} | _NOWHERE


def _reference(one: Reference) -> dict[str, str]:
    return {"reference_id": one.reference_id, "file_path": one.file}


def _references(asked: QueryRequest, found: Retrieval) -> list[ReferenceItem] | None:
    if not asked.include_references:
        return None
    items = [ReferenceItem(**_reference(one)) for one in found.references]
    if asked.include_chunk_content:
        for item, reference in zip(items, found.references, strict=True):
            item.content = [chunk.content for chunk in found.passages(reference)] or None
    return items


async def _without_answer(base: KnowledgeBase, asked: QueryRequest) -> tuple[str, Retrieval]:
    if not asked.only_need_prompt:
        found = await base.aretrieve(asked.query, **asked.options())
        return context_of(found), found
    prepared = await asyncio.to_thread(base.prepare, asked.query, **asked.options())
    return (prompt_of(prepared.request) if prepared.request else NO_CONTEXT), prepared.retrieval
