"""The published knowledge base, opened to be asked."""

import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self, TypeVar, Unpack, cast

from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.errors import NoSnapshotError, QueryError
from lightrag_dagster.query.arguments import instance, several, text, wrong
from lightrag_dagster.query.ask import require_model
from lightrag_dagster.query.asked import UnderWay, asking
from lightrag_dagster.query.awaited import awaited
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.following import Follower
from lightrag_dagster.query.lookups import Lookups
from lightrag_dagster.query.opened import LAST_SECONDS, Opened
from lightrag_dagster.query.question import QueryOptions, Question, question_of
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.query.steps.citations import resolve_citations
from lightrag_dagster.query.steps.context import context_of, prompt_of, request_of
from lightrag_dagster.query.types import Answer, Keywords, Retrieval, Step
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.prompts import NO_CONTEXT
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.snapshots import find_snapshot

CUT_OFF = "the answer is cut off; raise llm.roles.answer.max_output_tokens"
"""The note beside an answer that was cut off."""

_BY_RULES = (
    "rules answered, since no model is set here (llm.provider), though one made the vectors; give the settings of "
    "the base"
)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Prepared:
    """A question ready for the model: the retrieval, and the request, if any."""

    retrieval: Retrieval
    request: ChatRequest | None = field(repr=False)
    asked: UnderWay = field(default_factory=UnderWay, compare=False, repr=False)


class KnowledgeBase(Lookups):
    """One snapshot, read-only; threads and tasks may share it, processes may not.

    Close it, or open it in a `with` block. One that is left open is closed when it is garbage-collected, or when the
    interpreter ends, with a ResourceWarning. After `close`, and in a process that was forked after it was opened, every
    method raises ClosedError.

    Every question takes the options of `QueryOptions`: mode, top_k, keywords, filters, and so on. If there are no hits,
    texts are an apology that ends in `[no-context]`, and no model is called. `find`, `entity`, `neighbours` and `path`
    ask the graph, `facts` and `count` the facts, without a model. Methods that begin with `a` are for code that runs in
    an event loop, and do the same in a thread.

    Example:
        >>> with KnowledgeBase.open("data") as knowledge:
        ...     print(knowledge.query("Who repaired the clock?", mode="local").text)
    """

    def __init__(
        self, snapshot: Snapshot, settings: Settings, account: Account | None = None, named: str | None = None
    ) -> None:
        """Use `open` instead."""
        self.snapshot = snapshot
        self.settings = settings
        self._account, self._named = account, named
        self._opened = Opened(snapshot, settings, account)
        self._unclosed: weakref.finalize[..., KnowledgeBase] = weakref.finalize(self, self._opened.abandon, repr(self))
        self._is_warm = False

    @classmethod
    def open(
        cls,
        home: Path | str | None = None,
        snapshot_id: str | None = None,
        *,
        scope: str | None = None,
        settings: Settings | None = None,
        account: Account | None = None,
    ) -> Self:
        """Open a snapshot: the published one, unless named, of the home in the settings, unless given.

        Args:
            home: a folder, or the address of a bucket.
            snapshot_id: an id, or a name given to one.
            scope: the name of a scope, to open what it published, in place of the whole knowledge base.
            settings: those to use; unless given, they are read from environment and file.
            account: it is billed for calls of models, within its budget; without one they are not recorded.

        Raises:
            NoSnapshotError: the home has no published snapshot yet, the settings have scopes and lack this one, or the
                snapshot is another than the one that the scope published.
            QueryError: an argument is of another kind.
            ClosedError: this process was forked from one that had a knowledge base open.
            SettingsError: the settings or prompts cannot be read.
            QueryError: there is no such snapshot.
            StoreError: a part of it is missing or damaged.
        """
        settings = load_settings() if settings is None else instance(settings, Settings, "settings", "Settings")
        if home is not None:
            named = home if isinstance(home, Path) else text(home, "home")
            settings = settings.model_copy(update={"home": Path(named)})
        if scope is not None:
            settings = settings.within(text(scope, "scope"))
            if settings.scopes and scope not in settings.scopes:  # which a door does not name
                raise NoSnapshotError(f"the settings have no scope {scope}; name one of their `scopes`")
        name = None if snapshot_id is None else text(snapshot_id, "snapshot_id")
        return cls(open_snapshot(Home.of(settings), name), settings, account, name)

    @classmethod
    def follow(
        cls,
        home: Path | str | None = None,
        snapshot_id: str | None = None,
        *,
        scope: str | None = None,
        settings: Settings | None = None,
        account: Account | None = None,
    ) -> Self:
        """Open the published snapshot, and ask the newest one from then on; takes and raises as `open`.

        The result has all methods of a knowledge base, but each question is asked of the snapshot that is published
        when it begins; at most once a second it looks for another one. See `Follower`.

        Args:
            home: as `open`.
            snapshot_id: as `open`; a name given to a snapshot is followed to others.
            scope: as `open`.
            settings: as `open`.
            account: as `open`.
        """
        return cast(Self, Follower(cls.open(home, snapshot_id, scope=scope, settings=settings, account=account)))

    def warm(self, filters: Sequence[Filters] = ()) -> None:
        """Load and check what a first question needs, of all and for each of `filters`; no model is asked.

        Raises:
            QueryError: a source of a filter does not exist.
            ClosedError: the knowledge base is closed, or was opened in another process.
            StoreError: a part of the snapshot is missing or damaged.
        """
        given = several(filters, "filters", "a list of Filters")
        for one in (Filters(), *(instance(one, Filters, "each of filters", "Filters") for one in given)):
            self.find("a", filters=one, limit=1)
            with self._opened.in_use():
                self._opened.retriever.warm(one)
        self.snapshot.checked()
        self._is_warm = True

    @property
    def ready(self) -> bool:
        """True when it was warmed, and is open."""
        return self._is_warm and self._unclosed.alive

    def refresh(self) -> Self:
        """Return the knowledge base as it is published now: this one, if that is its snapshot, else another to ask.

            newest = knowledge.refresh()

        So a service asks the newest snapshot without a restart. This one stays open: close it when the questions that
        it was asked have ended. A knowledge base that was opened by the name of a snapshot follows the name. Raises as
        `open`.
        """
        home = Home.of(self.settings)
        with self._opened.in_use():
            if find_snapshot(home, self._named).snapshot_id == self.snapshot_id:
                return self
            found = open_snapshot(home, self._named)
        return type(self)(found, self.settings, self._account, self._named)

    @property
    def snapshot_id(self) -> str:
        """Id of the snapshot."""
        return self.snapshot.manifest.snapshot_id

    @property
    def scope(self) -> str:
        """The scope that it was opened in; empty for the whole knowledge base."""
        return self.settings.scope

    @property
    def manifest(self) -> Manifest:
        """The manifest of the snapshot."""
        return self.snapshot.manifest

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return everything found for the question, best first, without an answer.

        Args:
            query: the question, at most 20,000 characters.
            **options: see `QueryOptions`.

        Raises:
            QueryError: the question is empty, too short or too long, a mode, option or source does not exist, or a
                value is of another kind or out of bounds.
            QueryTimeoutError: it takes longer than `timeout`.
            ClosedError: the knowledge base is closed, or was opened in another process.
            ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
            SettingsError: `filter_relations`, `hops` or the reranker asks a model, and none is configured.
        """
        with self._question(query, options) as (question, _):
            return self._opened.retriever.retrieve(question)

    def keywords(self, query: str, **options: Unpack[QueryOptions]) -> Keywords:
        """Return the keywords of the search; takes and raises as `retrieve`."""
        with self._question(query, options) as (question, _):
            return self._opened.retriever.keywords(question, {})

    def context(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return the context that a model would see; takes and raises as `retrieve`."""
        return context_of(self.retrieve(query, **options))

    def prompt(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return every message that a model would see; takes and raises as `retrieve`."""
        request = self.prepare(query, **options).request
        return prompt_of(request) if request else NO_CONTEXT

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return an answer; takes and raises as `retrieve`.

        It is stored under a hash of everything that the model saw: asked again in the same context, it is free.
        """
        return self.answer(self.prepare(query, **options))

    def query_batch(self, queries: Sequence[str], **options: Unpack[QueryOptions]) -> list[Answer]:
        """Return the answers to several questions, `llm.max_concurrency` at a time; raises as `retrieve`.

        Args:
            queries: the questions.
            **options: those of each question; see `QueryOptions`.
        """
        several(queries, "query_batch", "a list of questions")
        return self.map(lambda query: self.query(query, **options), queries)

    def stream(self, query: str, **options: Unpack[QueryOptions]) -> Iterator[str]:
        """Return the text of an answer in pieces, as the model writes it; takes and raises as `retrieve`.

        Citations are not checked, reasoning in the text stays, and the answer is not stored. One that is cut off is a
        warning in the log.
        """
        return self.pieces(self.prepare(query, **options))

    aretrieve = awaited(retrieve)
    akeywords = awaited(keywords)
    acontext = awaited(context)
    aprompt = awaited(prompt)
    aquery = awaited(query)

    async def astream(self, query: "str | Prepared", **options: Unpack[QueryOptions]) -> AsyncIterator[str]:
        """Stream in an event loop; takes and raises as `retrieve`. A caller that leaves ends the request.

        A question `prepared` by `aprepare` is not prepared again, and takes no options.
        """
        if isinstance(query, Prepared):
            if options:
                raise QueryError(f"a prepared question takes no options; give {', '.join(options)} to `aprepare`")
            asked = self._opened.asked(query.asked.left())  # so that it can be asked again when this stream was left
            begin = partial(self.pieces, replace(query, asked=asked))
        else:
            asked = self._opened.asked(options.get("timeout"))
            begin = partial(self.stream, query, **options)
        try:
            pieces = await self._opened.in_thread(begin, asked)
            while (piece := await self._opened.in_thread(partial(next, pieces, None), asked)) is not None:
                yield piece
        except BaseException:
            asked.give_up()
            raise

    def prepare(self, query: str, **options: Unpack[QueryOptions]) -> Prepared:
        """Return the request that `query` would send to the model, for `answer`; takes and raises as `retrieve`."""
        with self._question(query, options) as (question, asked):
            retrieval = self._opened.retriever.retrieve(question)
            return Prepared(retrieval, request_of(self._opened.prompts, question, retrieval), asked)

    aprepare = awaited(prepare)

    def answer(self, prepared: Prepared) -> Answer:
        """Answer a question, `prepared` by `prepare`; raises ProviderError, QueryError and ClosedError."""
        retrieval = instance(prepared, Prepared, "answer", "what `prepare` returns").retrieval
        started = time.perf_counter()
        with self._opened.in_use(), prepared.asked.resumed():
            response = self._opened.models.complete(prepared.request) if prepared.request else None
        found = resolve_citations(response.text if response else NO_CONTEXT, retrieval.references)
        notes = {"cited": len(found.cited), "invalid citations": found.invalid_citations}
        step = Step("answer", (time.perf_counter() - started) * 1000, notes)
        cut = [CUT_OFF] if response and response.finish_reason == "length" else []
        offline = self.settings.llm.of("answer").provider == "offline"
        ruled = [_BY_RULES] if offline and self._opened.is_paid else []
        retrieval = replace(retrieval, steps=(*retrieval.steps, step), notes=(*retrieval.notes, *cut, *ruled))
        return Answer(
            found.text, retrieval.references, retrieval, retrieval.snapshot_id, found.cited, found.invalid_citations
        )

    def pieces(self, prepared: Prepared) -> Iterator[str]:
        """Yield the answer to a question, `prepared` by `prepare`, in pieces; see `stream`."""
        request = instance(prepared, Prepared, "pieces", "what `prepare` returns").request
        with self._opened.in_use():
            for piece in self._opened.models.stream(request, prepared.asked) if request else [NO_CONTEXT]:
                yield piece
                self._opened.require_open()

    def complete(self, request: ChatRequest) -> str:
        """Answer a `request` of the caller, such as a judge's, by the model of its role; raises as `answer`."""
        with self._opened.in_use():
            return self._opened.models.complete(instance(request, ChatRequest, "complete", "a ChatRequest")).text

    def map(self, ask: Callable[[Item], Result], questions: Sequence[Item]) -> list[Result]:
        """Call `ask` for each of `questions`, `llm.max_concurrency` at a time, and return the results in order.

        Within an `ask` they are called one after another.
        """
        if not callable(ask):
            raise wrong("map", "a function and a list of questions", ask)
        several(questions, "map", "a function and a list of questions")
        with self._opened.in_use():
            callers = self._opened.callers
            return list(map(ask, questions) if callers.is_caller else callers.map(ask, questions))

    def close(self) -> None:
        """Close models, threads and snapshot; the knowledge base cannot be asked any more.

        Running questions raise ClosedError. In a forked process it does nothing: all of it belongs to the parent.

        Raises:
            StoreError: what its models cost cannot be recorded; it is closed all the same.
        """
        self._unclosed.detach()
        if self._opened.is_open:
            with closing(self.snapshot):
                self._opened.close()

    def close_unused(self) -> None:
        """Have it closed when nothing refers to it any more, such as a question that it was asked, without a warning.

        Keep no reference to it.
        """
        if self._unclosed.detach():
            self._unclosed = weakref.finalize(self, self._opened.close, LAST_SECONDS)

    def __repr__(self) -> str:
        rows = ", ".join(f"{self.manifest.rows[name]:,} {name}" for name in ("chunks", "entities", "relations"))
        of = f"scope {self.scope} in " if self.scope else ""
        return f"KnowledgeBase({self.snapshot_id} of {of}{self.settings.home}: {rows})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _question(self, query: str, options: QueryOptions) -> Iterator[tuple[Question, UnderWay]]:
        """Begin a question for the block."""
        reranker, by_rules = self.settings.rerank.provider, self.settings.llm.of("answer").provider == "offline"
        with self._opened.in_use():
            question = question_of(query, options, self.settings.query, reranker=reranker, by_rules=by_rules)
            require_model(question.settings, self.settings)
            with asking(question.timeout) as asked:
                yield question, asked
