"""The published knowledge base as a Dagster resource, for assets of this project and of others."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import dagster as dg
from pydantic import Field, PrivateAttr, field_validator

from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Answer, Retrieval
from lightrag_dagster.settings import check_names, load_settings

if TYPE_CHECKING:
    from lightrag_dagster.query.knowledge_base import KnowledgeBase
    from lightrag_dagster.spending.account import Account


class KnowledgeBaseResource(dg.ConfigurableResource):
    """The published knowledge base of a home, for questions.

    The snapshot is opened at the first question of a run, so that an asset downstream of `knowledge_base` sees the
    snapshot of its own run, and stays the same to the end of the step's process, which is that of the run with the
    executor `in_process` alone; `snapshot_id` stays with one for all steps. Threads and tasks share it.
    `knowledge_base` has the methods that are not here: facts, graph, SQL, streams.

    Example:
        >>> @dg.asset
        ... def briefing(knowledge: KnowledgeBaseResource) -> str:
        ...     return knowledge.query("What changed in the contracts?").text
        >>> defs = dg.Definitions([briefing], resources={"knowledge": KnowledgeBaseResource(home="/srv/lightrag")})
    """

    home: str = Field(description="Folder of the knowledge base (LIGHTRAG_HOME).")
    snapshot_id: str | None = Field(default=None, description="A snapshot to stay with; else the published one.")
    scope: str | None = Field(default=None, description="A scope to ask, in place of the whole knowledge base.")
    database: str | None = Field(
        default=None,
        description="URL of its Postgres database, as an `EnvVar`; else LIGHTRAG_DATABASE, if that is set.",
    )
    settings: dict[str, Any] = Field(
        default={}, description="Settings, such as `llm`, in place of those in LIGHTRAG_… variables and lightrag.yaml."
    )

    _opened: "KnowledgeBase | None" = PrivateAttr(default=None)
    _opening: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @field_validator("settings")
    @classmethod
    def _can_be_used(cls, settings: dict[str, Any]) -> dict[str, Any]:
        if given := settings.keys() & {"home", "scope", "database"}:
            raise ValueError(f"{min(given)} is an argument of its own; leave it out of `settings`")
        check_names(settings)
        return settings

    def open(self, account: "Account | None" = None) -> "KnowledgeBase":
        """Open the snapshot for a `with` block of its own; see `KnowledgeBase.open`."""
        from lightrag_dagster.query.knowledge_base import KnowledgeBase

        database = {"database": self.database} if self.database is not None else {}
        settings = load_settings(home=self.home, **database, **self.settings)
        return KnowledgeBase.open(snapshot_id=self.snapshot_id, scope=self.scope, settings=settings, account=account)

    @property
    def knowledge_base(self) -> "KnowledgeBase":
        """The run's snapshot, which is closed at the end of the run; raises as `KnowledgeBase.open`."""
        with self._opening:
            if self._opened is None:
                self._opened = self.open()
            return self._opened

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return everything found in the run's snapshot; see `KnowledgeBase.retrieve`."""
        return self.knowledge_base.retrieve(query, **options)

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return an answer from the run's snapshot; see `KnowledgeBase.query`."""
        return self.knowledge_base.query(query, **options)

    def query_batch(self, queries: Sequence[str], **options: Unpack[QueryOptions]) -> list[Answer]:
        """Return the answers to several questions, asked at once; see `KnowledgeBase.query_batch`."""
        return self.knowledge_base.query_batch(queries, **options)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the run's snapshot, if it was opened."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
