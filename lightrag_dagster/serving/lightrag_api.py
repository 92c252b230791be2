"""The part of LightRAG's API that asks: its fields, its defaults and the forms of its answers (1.5.7).

A client of LightRAG can so ask this. A field or mode that is not here is refused by its name.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES, ModeName
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.steps.context import context_of, prompt_of
from lightrag_dagster.query.types import Retrieval
from lightrag_dagster.serving.requests import SearchRequest
from lightrag_dagster.stages.prompts import NO_CONTEXT

_MOST_CHARACTERS, _MOST_TOKENS = 65_536, 1_000_000


class _Turn(BaseModel):
    role: str = Field(min_length=1, max_length=64)
    content: str = Field(max_length=32_768)


class QueryRequest(SearchRequest):
    """A question as LightRAG takes it; filters, as_of and modes fusion, ppr and bm25 are taken besides."""

    query: str = Field(max_length=_MOST_CHARACTERS)
    mode: ModeName | None = "mix"
    only_need_context: bool | None = None
    only_need_prompt: bool | None = None
    response_type: str | None = Field(None, min_length=1, max_length=256)
    max_entity_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    max_relation_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    max_total_tokens: int | None = Field(None, ge=1, le=_MOST_TOKENS)
    conversation_history: list[_Turn] | None = Field(None, max_length=128)
    user_prompt: str | None = Field(None, max_length=_MOST_CHARACTERS)
    disable_user_prompt_prefix: bool | None = Field(None, description="Without effect: there is no prefix here.")
    enable_rerank: bool | None = None
    include_references: bool | None = True
    include_chunk_content: bool | None = False
    include_progress: Literal[False] | None = Field(False, description="Not here: true is refused.")
    stream: bool | None = Field(None, description="False has /query/stream answer in one line.")

    def options(self) -> QueryOptions:
        """Return the options of the question."""
        options = super().options()
        if self.enable_rerank is not None:
            options["rerank"] = self.enable_rerank
        if self.conversation_history:
            options["history"] = [Message(one.role, one.content) for one in self.conversation_history]
        return options


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
    """The rows found for a question."""

    status: str
    message: str
    data: dict[str, Any]
    metadata: dict[str, Any]


async def answer(base: KnowledgeBase, asked: QueryRequest) -> QueryResponse:
    """Answer a question, or return its context or prompt; raises as `KnowledgeBase.query`."""
    began = time.perf_counter()
    if generated := not (asked.only_need_context or asked.only_need_prompt):
        answered = await base.aquery(asked.query, **asked.options())
        text, found, generated = answered.text, answered.retrieval, answered.text != NO_CONTEXT
    else:
        prepared = await base.aprepare(asked.query, **asked.options())
        found, request = prepared.retrieval, prepared.request if asked.only_need_prompt else None
        text = prompt_of(request) if request else context_of(found)
    took = round(time.perf_counter() - began, 3)
    references = _references(asked, found)
    return QueryResponse(response=text, references=references, response_time=took, llm_generated=generated)


async def stream(base: KnowledgeBase, asked: QueryRequest) -> AsyncIterator[dict[str, Any]]:
    """Yield an answer as lines: the references, then pieces of text; raises as `KnowledgeBase.query`."""
    if asked.stream is False or asked.only_need_context or asked.only_need_prompt:
        whole = await answer(base, asked)
        yield whole.model_dump(exclude={"response_time"}, exclude_none=True)
        return
    prepared = await base.aprepare(asked.query, **asked.options())
    if (references := _references(asked, prepared.retrieval)) is not None:
        yield {"references": [one.model_dump(exclude_none=True) for one in references]}
    async for piece in base.astream(prepared):
        yield {"response": piece}


_NOWHERE = {"source_id": "", "file_path": "unknown_source", "created_at": ""}
"""Places of entities and relations, which a retrieval does not list."""
_ENTITY = {"entity_name": "name", "entity_type": "type", "description": "description"}
_RELATION = {"src_id": "src", "tgt_id": "tgt", "description": "description", "keywords": "keywords", "weight": "weight"}
_CHUNK = {"reference_id": "reference_id", "content": "content", "chunk_id": "chunk_id"}


async def data(base: KnowledgeBase, asked: QueryRequest) -> QueryDataResponse:
    """Return the rows found for a question; raises as `KnowledgeBase.retrieve`."""
    found = await base.aretrieve(asked.query, **asked.options())
    told = {"query_mode": found.mode, "keywords": asdict(found.keywords), "snapshot_id": found.snapshot_id}
    if found.empty and MODES[found.mode].retrieves:
        return QueryDataResponse(status="failure", message="Nothing was found", data={}, metadata=told)
    rows = {
        "entities": [_named(one, _ENTITY) | _NOWHERE for one in found.entities],
        "relationships": [_named(one, _RELATION) | _NOWHERE for one in found.relations],
        "chunks": [_named(one, _CHUNK) | {"file_path": f"{one.source}/{one.path}"} for one in found.chunks],
        "references": [{"reference_id": one.reference_id, "file_path": one.file} for one in found.references],
    }
    return QueryDataResponse(status="success", message="Found", data=rows, metadata=told)


def _named(row: object, names: dict[str, str]) -> dict[str, Any]:
    return {theirs: getattr(row, ours) for theirs, ours in names.items()}


def _references(asked: QueryRequest, found: Retrieval) -> list[ReferenceItem] | None:
    if not asked.include_references:
        return None
    items = [ReferenceItem(reference_id=one.reference_id, file_path=one.file) for one in found.references]
    for item, one in zip(items, found.references if asked.include_chunk_content else (), strict=False):
        item.content = [chunk.content for chunk in found.passages(one)]
    return items
