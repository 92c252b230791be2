"""Requests besides those of LightRAG; tools of MCP and paths of HTTP take the same."""

from typing import Any, cast

from pydantic import BaseModel, Field

from lightrag_dagster.query.facts.conditions import By, FactOptions
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Keywords

NARROWS = (
    "The documents that may be used. It narrows a question but hides little: scores, order and numbers still tell of"
    " documents left out; the scope of a token hides them."
)

_NAME = "A name as people write it, or an id."


class Narrowed(BaseModel, extra="forbid"):
    """A request that may be narrowed to some documents."""

    filters: Filters | None = Field(None, description=NARROWS)


class SearchRequest(Narrowed):
    """A question or words."""

    query: str
    mode: ModeName | None = Field(None, description="The way to retrieve; leave it out unless one is needed.")
    top_k: int | None = Field(None, ge=1, le=1000, description="Most entities, and most relations.")
    chunk_top_k: int | None = Field(None, ge=1, le=1000, description="Most passages.")
    hl_keywords: list[str] = Field([], max_length=64, description="Themes, in place of those that a model finds.")
    ll_keywords: list[str] = Field([], max_length=64, description="Specifics, likewise.")
    as_of: str | None = Field(None, description="Facts that held on this day come first: a day, month or year.")

    def options(self) -> QueryOptions:
        """Return the options of the question."""
        given: dict[str, Any] = {name: getattr(self, name, None) for name in QueryOptions.__annotations__}
        if self.hl_keywords or self.ll_keywords:
            given["keywords"] = Keywords(tuple(self.hl_keywords), tuple(self.ll_keywords))
        return cast(QueryOptions, {name: value for name, value in given.items() if value is not None})


class FindRequest(SearchRequest):
    """A question of an agent, whose context is short."""

    top_k: int | None = Field(4, ge=1, le=1000, description="Most entities, and most relations.")
    chunk_top_k: int | None = Field(5, ge=1, le=1000, description="Most passages.")


class ReadRequest(BaseModel, extra="forbid"):
    """A passage, a part of a document, or a list."""

    id: str = Field(
        "",
        description="Id of a passage or document, or source/path of a document; or a source, for the list of its"
        " documents with lengths and dates; or nothing, for the list of sources.",
    )
    page: int | None = Field(None, ge=1, description="First page, of a document that has pages.")
    last_page: int | None = Field(None, ge=1, description="Last page; the first one unless given. Alone: from page 1.")
    start: int = Field(0, ge=0, lt=1 << 31, description="First character; of a list, the documents to pass over.")


class EntityRequest(Narrowed):
    """One entity."""

    name: str = Field(description=_NAME)
    limit: int = Field(10, ge=1, le=200, description="Most names, quotes and neighbours each.")


class PathRequest(Narrowed):
    """Two entities."""

    start: str = Field(description=_NAME)
    end: str = Field(description=_NAME)


class FactsRequest(Narrowed):
    """Conditions on facts, of which all given ones must hold."""

    subject: str | None = Field(None, description="Name or id of the entity that they are about.")
    relation: str | None = Field(None, description="Name of the relation; `by` relation lists them.")
    object: str | None = Field(None, description="Name or id of the entity at the other end.")
    type: str | None = Field(None, description="Type of the subject.")
    value: str | None = Field(None, description="4.2 EUR, 2024-03 or yes; or one behind <, <=, =, >= or >.")
    as_of: str | None = Field(None, description="Only what held on this day; 2025 is its first day.")
    contradicted: bool = Field(False, description="Only facts that others contradict.")
    limit: int = Field(20, ge=1, le=1000, description="Most facts, or most numbers.")
    count: bool = Field(False, description="Return numbers in place of facts.")
    by: By | None = Field(None, description="Count, with a number for each of these.")

    def conditions(self) -> FactOptions:
        """Return the conditions besides the subject."""
        return cast(FactOptions, self.model_dump(include=set(FactOptions.__annotations__)))


class ChangesRequest(BaseModel, extra="forbid"):
    """A snapshot to compare with."""

    before: str | None = Field(
        None, pattern=r"^[^\x00-\x1f]+$", description="Its id or name; the one before unless given."
    )
    limit: int = Field(50, ge=1, le=1000, description="Most rows.")
