"""The published knowledge base, for whoever has a question."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, Unpack

from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.models.providers import Account, chat_identity
from lightrag_dagster.query.answer import context_of, prompt_of, request_of
from lightrag_dagster.query.cited import checked
from lightrag_dagster.query.models import Models
from lightrag_dagster.query.options import QueryOptions, question_of
from lightrag_dagster.query.retriever import Retriever
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.query.types import Answer, Keywords, Retrieval, Step
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.prompts import NO_CONTEXT, load_prompts
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Manifest

Question = TypeVar("Question")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Prepared:
    """A question that is ready to be put: what was retrieved, and what the model is asked, if anything."""

    retrieval: Retrieval
    request: ChatRequest | None


class KnowledgeBase:
    """One snapshot, read-only; threads and tasks may share it.

    Every question takes the options of `QueryOptions`: mode, top_k, keywords, filters, and so on. Where nothing is
    found, texts are an apology that ends in `[no-context]`, and no model is asked. Methods that begin with `a` are for
    code that runs in an event loop, and do the same.

    Example:
        >>> with KnowledgeBase.open("data") as knowledge:
        ...     print(knowledge.query("Who repaired the clock?", mode="local").text)
    """

    def __init__(self, snapshot: Snapshot, settings: Settings, account: Account | None = None) -> None:
        """Use `open` instead."""
        self.snapshot = snapshot
        self._settings = settings
        self._prompts = load_prompts(settings.prompts)
        self._models = Models(settings, snapshot.manifest.vectors, account)
        self._retriever = Retriever(snapshot, settings, self._prompts, self._models)
        self._threads = ThreadPoolExecutor(settings.llm.max_concurrency, thread_name_prefix="lightrag-query")

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        snapshot_id: str | None = None,
        *,
        settings: Settings | None = None,
        account: Account | None = None,
    ) -> Self:
        """Open a snapshot: the current one, unless named, of the home in the settings, unless given.

        What the models are asked goes on `account`, whose budget holds; without one it is not booked.

        Raises:
            NoSnapshotError: nothing has been published in the home yet.
            SettingsError: the settings or prompts cannot be read.
            StoreError: there is no such snapshot, or a part of it is missing or damaged.
        """
        settings = settings or load_settings()
        if home is not None:
            settings = settings.model_copy(update={"home": Path(home)})
        return cls(open_snapshot(Home(settings.home), snapshot_id), settings, account)

    @property
    def snapshot_id(self) -> str:
        """Id of the snapshot."""
        return self.snapshot.manifest.snapshot_id

    @property
    def manifest(self) -> Manifest:
        """What the snapshot is made of."""
        return self.snapshot.manifest

    @property
    def mode(self) -> str:
        """The mode of questions that name none."""
        return self._settings.query.mode

    @property
    def chat_identity(self) -> str:
        """Names provider, model and parameters that shape an answer."""
        return chat_identity(self._settings.llm.of("answer"))

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return what the knowledge base holds on the question, best first, without an answer.

        Raises:
            QueryError: the question is empty or too short, there is no such mode or source, or a value is out of
                bounds.
            ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
        """
        return self._retriever.retrieve(question_of(query, options, self._settings.query))

    def keywords(self, query: str, **options: Unpack[QueryOptions]) -> Keywords:
        """Return the keywords that `retrieve` would go by; raises as it does."""
        return self._retriever.keywords(question_of(query, options, self._settings.query))

    def context(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return the context that a model would see; raises as `retrieve`."""
        return context_of(self.retrieve(query, **options))

    def prompt(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return all that a model would see, message by message; raises as `retrieve`."""
        request = self.prepare(query, **options).request
        return prompt_of(request) if request else NO_CONTEXT

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return an answer; raises as `retrieve`.

        It is stored under all that the model saw: asked again in the same context, it costs nothing.
        """
        return self.answer(self.prepare(query, **options))

    def query_batch(self, queries: Sequence[str], **options: Unpack[QueryOptions]) -> list[Answer]:
        """Return the answers to several questions, asked `llm.max_concurrency` at a time; raises as `retrieve`."""
        return self.map(lambda query: self.query(query, **options), queries)

    def stream(self, query: str, **options: Unpack[QueryOptions]) -> Iterator[str]:
        """Return the text of an answer piece by piece, as the model gives it; raises as `retrieve`.

        References are as the model makes them, and the answer is not stored.
        """
        request = self.prepare(query, **options).request
        return self._models.stream(request) if request else iter([NO_CONTEXT])

    async def aretrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Do as `retrieve`."""
        return await self._aside(lambda: self.retrieve(query, **options))

    async def aquery(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Do as `query`."""
        return await self._aside(lambda: self.query(query, **options))

    async def astream(self, query: str, **options: Unpack[QueryOptions]) -> AsyncIterator[str]:
        """Do as `stream`."""
        pieces = await self._aside(lambda: self.stream(query, **options))
        while (piece := await self._aside(lambda: next(pieces, None))) is not None:
            yield piece

    def prepare(self, query: str, **options: Unpack[QueryOptions]) -> Prepared:
        """Return what `query` would put to the model, for `answer`; raises as `retrieve`."""
        question = question_of(query, options, self._settings.query)
        retrieval = self._retriever.retrieve(question)
        return Prepared(retrieval, request_of(self._prompts, question, retrieval))

    def answer(self, prepared: Prepared) -> Answer:
        """Ask what was prepared; raises ProviderError."""
        started = time.perf_counter()
        text = self._models.complete(prepared.request).text if prepared.request else NO_CONTEXT
        retrieval = prepared.retrieval
        found = checked(text, retrieval.references)
        notes = {"cited": len(found.cited), "invented": found.invented}
        step = Step("answer", (time.perf_counter() - started) * 1000, notes)
        retrieval = replace(retrieval, steps=(*retrieval.steps, step))
        return Answer(found.text, retrieval.references, retrieval, self.snapshot_id, found.cited, found.invented)

    def map(self, ask: Callable[[Question], Result], queries: Sequence[Question]) -> list[Result]:
        """Return what `ask` makes of every question, in their order, `llm.max_concurrency` at a time."""
        return list(self._threads.map(ask, queries))

    def close(self) -> None:
        """Close the models; the knowledge base cannot be asked any more."""
        self._threads.shutdown(cancel_futures=True)
        self._retriever.close()
        try:
            self._models.close()
        finally:
            if self.snapshot.lease is not None:
                self.snapshot.lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def _aside(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
