"""Names instead of a language model: the entities of a chunk are the names in it, found by rules and a NER model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.models.local.pipelines import load_pipeline, pipeline_identity
from lightrag_dagster.models.offline.chat import as_rows, without_marks
from lightrag_dagster.models.offline.extractor import find_names
from lightrag_dagster.models.offline.recognised import Recogniser
from lightrag_dagster.stages.prompts.fencing import last_fenced

_VERSION = 2
"""Raise it when other names are found: it is part of the recipe of extractions."""


class NameFinder:
    """Implements `ChatModel` for requests that extract. It counts no calls and no tokens, since no model is asked.

    It can be pickled until it is asked; where it is asked, it loads its pipeline first.
    """

    awaited: frozenset[str] = frozenset()

    def __init__(self, *, co_mentions: bool = False, pipeline: str | None = None) -> None:
        """With `co_mentions`, names in one sentence are related; `pipeline` is a spaCy one that finds further names.

        Raises:
            SettingsError: the pipeline is not on this machine.
        """
        self._co_mentions = co_mentions
        self._pipeline = pipeline
        self._pipeline_identity = pipeline_identity(pipeline) if pipeline else ""
        self.usage = Usage()

    @property
    def identity(self) -> str:
        """The version of the rules, the pipeline, and whether names are related."""
        found_by = f"rules-{_VERSION}" + (f"+{self._pipeline_identity}" if self._pipeline else "")
        return f"mentions/{found_by}{'?co_mentions' if self._co_mentions else ''}"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the names of the passage in the last message.

        Raises:
            PermanentProviderError: the message ends in no fence.
            SettingsError: the pipeline cannot be loaded.
        """
        body = last_fenced(request.messages[-1].content)
        if body is None:
            raise PermanentProviderError("a request to extract ends in no fence; check custom prompts")
        text, related = without_marks(body), self._co_mentions
        found = find_names(text, co_mentions=related, recognise=self._recognise, language=request.language)
        return ChatResponse(as_rows(found))

    @asynccontextmanager
    async def open(self) -> AsyncIterator["NameFinder"]:
        """Yield the finder itself, so that it can be opened like a model."""
        yield self

    @cached_property
    def _recognise(self) -> Recogniser | None:
        return load_pipeline(self._pipeline, self._pipeline_identity) if self._pipeline else None
