"""From a question to what the model should see: keywords, filter and retrieval, over one snapshot."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.query.answer import in_context
from lightrag_dagster.query.filters import Filters
from lightrag_dagster.query.keywords import cleaned, or_question, parse_keywords
from lightrag_dagster.query.models import Models
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.options import Question
from lightrag_dagster.query.retrieval import retrieve
from lightrag_dagster.query.scope import scoped
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.trace import Trace
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import keyword_request

_SPARE_TOKENS = 200
"""Of the total budget, for the headings of the context and the list of documents (as LightRAG has it)."""

_SCOPES = 8
"""Filters whose view of the snapshot is kept."""


class Retriever:
    """Retrieves from one snapshot; threads may share it."""

    def __init__(self, snapshot: Snapshot, settings: Settings, prompts: Prompts, models: Models) -> None:
        self._snapshot = snapshot
        self._settings = settings
        self._prompts = prompts
        self._models = models
        self._tokenizer = load_tokenizer(settings.chunking.encoding)
        self._scoped = lru_cache(_SCOPES)(self._scope)

    def retrieve(self, question: Question) -> Retrieval:
        """Return what the snapshot holds on the question; nothing without keywords, in a mode that needs them.

        Raises:
            QueryError: a filter names a source that is not there.
            ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
        """
        trace = Trace(explain=question.explain)
        settings, mode = question.settings, MODES[question.settings.mode]
        keywords = Keywords()
        if mode.keywords:
            with trace.step("keywords") as notes:
                keywords = self.keywords(question)
                notes |= asdict(keywords)
            if keywords == Keywords():
                return self._nothing(question, trace)
        if settings.mode == "bypass":
            return self._nothing(question, trace)
        with trace.step("filter"):
            snapshot = self._scoped(question.filters)
        search = Search(snapshot, question.text, keywords, settings, self._embed)
        rerank = self._models.rerank if self._models.reranks else None
        found = retrieve(search, self._tokenizer.count, self._reserved(question), rerank, trace)
        return replace(found, steps=trace.steps)

    def keywords(self, question: Question) -> Keywords:
        """Return what the question is about: the caller's keywords, else the model's, else the question itself.

        Raises:
            ProviderError: the model gave no usable answer.
        """
        given = cleaned(question.keywords or Keywords())
        if given != Keywords():
            return given
        request = keyword_request(self._prompts, question.text, self._settings.extraction.language)
        return or_question(parse_keywords(self._models.complete(request).text), question.text)

    def close(self) -> None:
        """Free the filtered snapshots; the retriever cannot be used again."""
        # A cycle otherwise, which keeps the snapshot in memory until the garbage collector runs.
        self.__dict__.pop("_scoped", None)

    def _nothing(self, question: Question, trace: Trace) -> Retrieval:
        return Retrieval(
            question.text, question.settings.mode, self._snapshot.manifest.snapshot_id, Keywords(), steps=trace.steps
        )

    def _reserved(self, question: Question) -> int:
        """Return what instructions and question take of the total budget; history does not count. Tokens."""
        request = in_context(self._prompts, replace(question, history=()), "")
        return _SPARE_TOKENS + sum(self._tokenizer.counts([message.content for message in request.messages]))

    def _scope(self, filters: Filters) -> Snapshot:
        return self._snapshot if filters == Filters() else scoped(self._snapshot, filters)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._models.embed(texts, self._snapshot.corpus_state)
