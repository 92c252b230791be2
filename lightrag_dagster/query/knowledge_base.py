"""The published knowledge base, for whoever has a question."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from lightrag_dagster.chunking.tokenizer import load_tokenizer
from lightrag_dagster.llm.protocol import Vectors
from lightrag_dagster.prompts import load_prompts
from lightrag_dagster.prompts.requests import answer_request, keyword_request
from lightrag_dagster.query.answer import NO_CONTEXT, prompt_of, request_of
from lightrag_dagster.query.context import render
from lightrag_dagster.query.filters import Filters
from lightrag_dagster.query.keywords import cleaned, or_question, parse_keywords
from lightrag_dagster.query.models import Models
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.options import QueryOptions, Question, question_of
from lightrag_dagster.query.retrieval import retrieve
from lightrag_dagster.query.scope import scoped
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.query.trace import Trace
from lightrag_dagster.query.types import Answer, Keywords, Retrieval
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stores.home import Home
from lightrag_dagster.stores.manifest import Manifest

# Of the total budget, for the headings of the context and the list of documents (as LightRAG has it).
_SPARE_TOKENS = 200

_SCOPES = 8
"""Filters whose view of the snapshot is kept."""


class KnowledgeBase:
    """One snapshot, read-only; threads may share it.

    Every question takes the options of `QueryOptions`: mode, top_k, keywords, and so on. Where nothing is found, texts
    are an apology that ends in `[no-context]`, and no model is asked.

    Example:
        >>> with KnowledgeBase.open("data") as knowledge:
        ...     print(knowledge.query("Who repaired the clock?", mode="local").text)
    """

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        """Use `open` instead."""
        self._snapshot = snapshot
        self._settings = settings
        self._scoped = lru_cache(_SCOPES)(self._scope)
        self._prompts = load_prompts(settings.prompts)
        self._tokenizer = load_tokenizer(settings.chunking.encoding)
        vectors = snapshot.manifest.vectors
        # A question is comparable with the snapshot's vectors only when the same embedder makes its own.
        embedding = settings.embedding.model_copy(
            update=vectors.model_dump(include={"provider", "model", "dimensions"})
        )
        self._models = Models(settings.llm, embedding, vectors.identity, Home(settings.home))

    @classmethod
    def open(
        cls, home: Path | str | None = None, snapshot_id: str | None = None, *, settings: Settings | None = None
    ) -> Self:
        """Open a snapshot: the current one, unless named, of the home in the settings, unless given.

        Raises:
            NoSnapshotError: nothing has been published in the home yet.
            SettingsError: the settings or prompts cannot be read.
            StoreError: there is no such snapshot, or a part of it is missing or damaged.
        """
        settings = settings or load_settings()
        if home is not None:
            settings = settings.model_copy(update={"home": Path(home)})
        return cls(open_snapshot(Home(settings.home), snapshot_id), settings)

    @property
    def snapshot_id(self) -> str:
        """Id of the snapshot."""
        return self._snapshot.manifest.snapshot_id

    @property
    def manifest(self) -> Manifest:
        """What the snapshot is made of."""
        return self._snapshot.manifest

    def retrieve(self, query: str, **options: Unpack[QueryOptions]) -> Retrieval:
        """Return what the knowledge base holds on the question, best first, without an answer.

        Raises:
            QueryError: the question is empty or too short, there is no such mode, or a value is out of bounds.
            ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
        """
        return self._retrieve(question_of(query, options, self._settings.query))

    def context(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return the context that a model would see; raises as `retrieve`."""
        retrieval = self.retrieve(query, **options)
        return NO_CONTEXT if retrieval.empty else render(retrieval)

    def prompt(self, query: str, **options: Unpack[QueryOptions]) -> str:
        """Return all that a model would see, message by message; raises as `retrieve`."""
        question = question_of(query, options, self._settings.query)
        request = request_of(self._prompts, question, self._retrieve(question))
        return prompt_of(request) if request else NO_CONTEXT

    def query(self, query: str, **options: Unpack[QueryOptions]) -> Answer:
        """Return an answer; raises as `retrieve`.

        It is stored under all that the model saw: asked again in the same context, it costs nothing.
        """
        question = question_of(query, options, self._settings.query)
        retrieval = self._retrieve(question)
        request = request_of(self._prompts, question, retrieval)
        text = self._models.complete(request).text if request else NO_CONTEXT
        return Answer(text, retrieval.references, retrieval, self.snapshot_id)

    def stream(self, query: str, **options: Unpack[QueryOptions]) -> Iterator[str]:
        """Return the text of `query` line by line, since no model here gives a part before the whole; raises alike."""
        return iter(self.query(query, **options).text.splitlines(keepends=True))

    def close(self) -> None:
        """Close the models; the knowledge base cannot be asked any more."""
        self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _retrieve(self, question: Question) -> Retrieval:
        settings = question.settings
        mode, trace = MODES[settings.mode], Trace(explain=question.explain)
        keywords = Keywords()
        if mode.keywords:
            with trace.step("keywords") as notes:
                keywords = self._keywords(question)
                notes |= asdict(keywords)
            if keywords == Keywords():
                return Retrieval(question.text, settings.mode, self.snapshot_id, keywords, steps=trace.steps)
        instructions = answer_request(self._prompts, question.text, "", settings.response_type)
        reserved = _SPARE_TOKENS + sum(self._tokenizer.counts([each.content for each in instructions.messages]))
        with trace.step("filter"):
            snapshot = self._scoped(question.filters)
        search = Search(snapshot, question.text, keywords, settings, self._embed)
        found = retrieve(search, self._tokenizer.count, reserved, trace)
        return replace(found, steps=trace.steps)

    def _scope(self, filters: Filters) -> Snapshot:
        return self._snapshot if filters == Filters() else scoped(self._snapshot, filters)

    def _keywords(self, question: Question) -> Keywords:
        given = cleaned(question.keywords or Keywords())
        if given != Keywords():
            return given
        request = keyword_request(self._prompts, question.text, self._settings.extraction.language)
        return or_question(parse_keywords(self._models.complete(request).text), question.text)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._models.embed(texts, self._snapshot.corpus_state)
