"""Retrieval for the questions of an opened snapshot: keywords, filters and modes."""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from lightrag_dagster.core.background import DaemonThreads
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.core.tracing import span
from lightrag_dagster.query.ask import Asking
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.filters.views import Views
from lightrag_dagster.query.keywords import without_blanks
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.models import Models
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.steps.chat_ranking import rank_by_chat
from lightrag_dagster.query.steps.context import request_in_context
from lightrag_dagster.query.steps.retrieve import Rerank, Trace, retrieve
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.prompts import Prompts

_SPARE_TOKENS = 200
"""Part of the total budget for the headings of the context and the list of documents (as LightRAG has it)."""

_SEARCHES = min(32, 4 + (os.cpu_count() or 1))
"""Most searches of vector tables at once, three a question."""


class Retriever:
    """A retriever for one snapshot; threads may share it."""

    def __init__(self, snapshot: Snapshot, settings: Settings, models: Models, prompts: Prompts) -> None:
        """Take the parts that every question needs; the caller closes `models` and `snapshot`."""
        self._snapshot = snapshot
        self._settings = settings
        self._models = models
        self._prompts = prompts
        self._asking = Asking(prompts, models.complete)
        # Not a method, which would keep this object, and its memory, in a reference cycle.
        self._views = Views(partial(_filtered, snapshot))
        # Threads of their own: questions wait for their searches, so they must not take each other's.
        self._searchers = DaemonThreads(_SEARCHES, "lightrag-search")

    def retrieve(self, question: Question) -> Retrieval:
        """Return everything found, best first; raises as `KnowledgeBase.retrieve`."""
        mode, source = question.settings.mode, self._snapshot.manifest.snapshot_id
        asked = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": source, "lightrag.mode": mode}
        with self._snapshot.reading(), span(f"retrieval {mode}", asked) as note:
            found = self._retrieve(question)
            counts = {name: len(getattr(found, name)) for name in ("entities", "relations", "chunks")}
            note({f"lightrag.{name}": count for name, count in counts.items()})
        return found

    def keywords(self, question: Question, notes: dict[str, Any]) -> Keywords:
        """Return the caller's keywords, else the model's, else the question itself if it is short; notes as `read`."""
        given = without_blanks(question.keywords or Keywords())
        return given if given != Keywords() else self._asking.keywords(question.text, notes)

    def view(self, filters: Filters) -> Snapshot:
        """Return the filtered view of the snapshot; the snapshot itself without a filter."""
        return self._snapshot if filters == Filters() else self._views.view(filters)

    def warm(self, filters: Filters) -> None:
        """Load what the first question with a filter needs, by one whose vector is of no text; no model is asked."""
        usual, dimensions = self._settings.query, self._snapshot.manifest.vectors.dimensions
        mode = usual.mode if MODES.get(usual.mode, MODES["bypass"]).retrieves else "fusion"
        words = Keywords(("warm",), ("warm",))
        question = Question("warm", usual.model_copy(update={"mode": mode}), words, filters=filters)

        def embed(texts: Sequence[str]) -> Vectors:
            return np.full((len(texts), dimensions), dimensions**-0.5, dtype=np.float32)

        self._models.warm()
        search = Search(self.view(filters), question, embed, self._searchers)
        retrieve(search, self._count, self._reserved(question), None, Trace(explain=False))

    def close(self, timeout: float | None = None) -> None:
        """End the threads that search, in at most `timeout` seconds, and drop the views of filters."""
        self._searchers.shutdown(cancel_futures=True, timeout=timeout)
        self._views.close()

    def _retrieve(self, question: Question) -> Retrieval:
        """Find keywords, apply the filters and retrieve; without keywords, a mode that needs them finds nothing."""
        trace, settings, mode = Trace(explain=question.explain), question.settings, MODES[question.settings.mode]
        nothing = Retrieval(question.text, settings.mode, self._snapshot.manifest.snapshot_id, Keywords())
        keywords = Keywords()
        if mode.keywords:
            with trace.step("keywords") as notes:
                keywords = self.keywords(question, notes)
                notes |= asdict(keywords)
            if "error" in notes or keywords == Keywords():
                question = replace(question, notes=(*question.notes, _unnamed(settings.mode, keywords)))
        if not mode.retrieves or (mode.keywords and keywords == Keywords()):
            return replace(nothing, notes=question.notes, steps=trace.steps)
        with trace.step("filter"):
            snapshot = self.view(question.filters)
        search = Search(snapshot, replace(question, keywords=keywords), self._embed, self._searchers, self._asking)
        found = retrieve(search, self._count, self._reserved(question), self._reranker(), trace)
        told = (*question.notes, *snapshot.notes, *found.notes, *self._lacking(question, found))
        return replace(found, steps=trace.steps, notes=told)

    def _reranker(self) -> Rerank | None:
        provider = self._settings.rerank.provider
        if provider == "chat":
            return partial(rank_by_chat, self._asking)
        return None if provider == "none" else lambda query, texts, limit, _: self._models.rerank(query, texts, limit)

    def _lacking(self, question: Question, found: Retrieval) -> list[str]:
        """Return notes on what the snapshot lacks: facts for a day, or for an empty result a graph to search."""
        unread = question.as_of and "as_of" not in MODES[found.mode].ignores
        if unread and not self._snapshot.manifest.rows.get("merged_facts"):
            return ["the snapshot has no facts, so that as_of does nothing; docs/facts.md has how they are read"]
        if found.chunks or len(self._snapshot.graph.entities.ids) or not len(self._snapshot.graph.chunks.ids):
            return []
        return [
            f"the graph of {found.snapshot_id} has no entity; ask in the mode fusion, bm25 or naive, or extract with a "
            "model (docs/extraction.md)"
        ]

    def _count(self, text: str) -> int:
        return load_tokenizer(self._settings.chunking.encoding).count(text)

    def _reserved(self, question: Question) -> int:
        """Return the part of the total budget that instructions and question take, without history. Tokens."""
        request = request_in_context(self._prompts, replace(question, history=()), "")
        return _SPARE_TOKENS + sum(self._count(message.content) for message in request.messages)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        return self._models.embed(texts, self._snapshot.corpus_state)


def _unnamed(mode: str, keywords: Keywords) -> str:
    """Return the note that the model named no keywords, and what is searched for instead."""
    nothing = f"mode {mode} finds nothing; give keywords, or ask in the mode fusion"
    return f"the model named no keywords: {'the question itself is one' if keywords != Keywords() else nothing}"


def _filtered(snapshot: Snapshot, filters: Filters) -> Snapshot:
    from lightrag_dagster.query.filters.view import filtered  # here, since a question without a filter needs no DuckDB

    return filtered(snapshot, filters)
