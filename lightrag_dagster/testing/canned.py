"""A knowledge base that answers as it is told."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Unpack
from uuid import uuid4

from pydantic import Field

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Answer, Keywords, Retrieval
from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.settings import QuerySettings
from lightrag_dagster.spending.account import Account

_SNAPSHOT = "canned"

# Dagster gives a run a copy of a resource.
_ASKED: defaultdict[str, list[str]] = defaultdict(list)


class CannedKnowledgeBase(KnowledgeBaseResource):
    """A resource in place of `KnowledgeBaseResource`, with answers known beforehand and no home.

    knowledge = CannedKnowledgeBase(answers={"Who leads the office?": "Jonas Feld."})
    dg.materialize([briefing], resources={"knowledge": knowledge})
    assert knowledge.asked == ["Who leads the office?"]
    """

    home: str = Field(default="", description="Not used.")
    answers: dict[str, str] = Field(default={}, description="Question → text of the answer.")
    default: str | None = Field(default=None, description="The answer to all other questions; else they are errors.")

    name: str = Field(default_factory=lambda: uuid4().hex, description="Tells it from others of the process.")

    @property
    def asked(self) -> list[str]:
        """The questions so far, of `query` and `retrieve`."""
        return _ASKED[self.name]

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return a retrieval that found nothing."""
        self.asked.append(query)
        return Retrieval(query, options.get("mode") or QuerySettings().mode, _SNAPSHOT, Keywords())

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return the answer to a question; raises QueryError when there is none."""
        retrieval = self.retrieve(query, **options)
        text = self.answers.get(query, self.default)
        if text is None:
            raise QueryError(f"there is no canned answer to {query!r}; add it to `answers`, or set `default`")
        return Answer(text, (), retrieval, _SNAPSHOT)

    def query_batch(self, queries: Sequence[str], **options: Unpack[QueryOptions]) -> list[Answer]:
        """Return the answers to several questions; raises as `query`."""
        return [self.query(query, **options) for query in queries]

    def open(self, account: Account | None = None) -> KnowledgeBase:
        """Raise QueryError, since there is no snapshot."""
        raise QueryError("canned answers have no knowledge base; ask one that `build_knowledge_base` makes")
