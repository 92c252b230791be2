"""What the doors take besides LightRAG's own requests: filters, searches, and questions about facts."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lightrag_dagster.query.facts.conditions import By
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Keywords

NO_WALL = (
    "Filters narrow a question and are no wall: scores, order and numbers still tell of documents left out. "
    "The scope of a token is one."
)


class FilterArguments(BaseModel):
    """The documents that may be used; all given conditions must hold."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"description": NO_WALL})

    sources: list[str] | None = Field(None, description="Names of sources.")
    paths: list[str] | None = Field(None, description="Patterns of paths below the source; * is any text.")
    media_types: list[str] | None = Field(None, description="Such as text/markdown.")
    documents: list[str] | None = Field(None, description="Ids of documents.")
    authors: list[str] | None = None
    tags: list[str] | None = None
    languages: list[str] | None = Field(None, description="ISO 639 codes, such as de.")
    modified_since: str | None = Field(None, description="ISO 8601.")
    dated_since: str | None = Field(None, description="The earliest day of the document's own date, ISO 8601.")
    dated_until: str | None = Field(None, description="The latest day of it.")

    def filters(self) -> Filters:
        """Return the filters of a question; raises QueryError."""
        return Filters(**self.model_dump(exclude_none=True))


class RetrieveRequest(BaseModel):
    """A question whose passages, entities, relations and facts are wanted, without an answer."""

    model_config = ConfigDict(extra="forbid")

    query: str
    mode: ModeName | None = Field(None, description="The way to retrieve; by default that of the settings.")
    top_k: int | None = Field(None, ge=1, le=1000, description="Most entities, and most relations.")
    chunk_top_k: int | None = Field(None, ge=1, le=1000, description="Most passages.")
    max_total_tokens: int | None = Field(None, ge=1, le=1_000_000)
    hl_keywords: list[str] = Field([], max_length=64, description="Themes, in place of those that a model finds.")
    ll_keywords: list[str] = Field([], max_length=64, description="Specifics, likewise.")
    as_of: str | None = Field(None, description="Facts that held on this day come first, ISO 8601.")
    filters: FilterArguments | None = None

    def options(self) -> QueryOptions:
        """Return the options of the question; raises QueryError."""
        names = {"mode", "top_k", "chunk_top_k", "max_total_tokens", "as_of"}
        given: dict[str, Any] = self.model_dump(include=names, exclude_none=True)
        return options_of(given, self.filters, self.hl_keywords, self.ll_keywords)


class FactsRequest(BaseModel):
    """Conditions on facts, of which all given ones must hold; with `count`, their numbers are wanted."""

    model_config = ConfigDict(extra="forbid")

    subject: str | None = Field(None, description="Name or id of the entity that they are about.")
    relation: str | None = None
    object: str | None = Field(None, description="Name or id of the entity at the other end.")
    type: str | None = Field(None, description="Type of the subject.")
    value: str | None = Field(None, description="Such as 4.2 EUR, 2024-03, yes, or one behind <, <=, =, >= or >.")
    as_of: str | None = Field(None, description="Only what held on this day, ISO 8601.")
    filters: FilterArguments | None = None
    limit: int = Field(20, ge=1, le=1000, description="Most facts, or most numbers.")
    count: bool = Field(False, description="Return numbers instead of facts.")
    by: By | None = Field(None, description="With count: one number for each of these.")

    def options(self) -> dict[str, Any]:
        """Return the arguments of `facts`, and of `count`; raises QueryError."""
        given = self.model_dump(include={"subject", "relation", "object", "type", "value", "as_of", "limit"})
        filters = self.filters.filters() if self.filters else None
        return given | {"filters": filters} | ({"by": self.by} if self.count else {})


def options_of(
    given: dict[str, Any], filters: FilterArguments | None, themes: list[str], specifics: list[str]
) -> QueryOptions:
    """Return the options of a question, of which `given` are plain; raises QueryError."""
    options: dict[str, Any] = dict(given)
    if filters is not None:
        options["filters"] = filters.filters()
    if themes or specifics:
        options["keywords"] = Keywords(tuple(themes), tuple(specifics))
    return QueryOptions(**options)  # type: ignore[typeddict-item]
