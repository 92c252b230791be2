"""Names instead of a language model: the entities of a chunk are the names in it, found by the offline rules."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.models.offline.chat import as_rows, without_marks
from lightrag_dagster.models.offline.extractor import find_names
from lightrag_dagster.stages.prompts.fencing import last_fenced

_VERSION = 1
"""Raise it when other names are found: it is part of the recipe of extractions."""


class NameFinder:
    """Implements `ChatModel` for requests that extract. It counts no calls and no tokens, since no model is asked."""

    awaited: frozenset[str] = frozenset()

    def __init__(self, *, co_mentions: bool = False) -> None:
        """With `co_mentions`, names in one sentence are related."""
        self._co_mentions = co_mentions
        self.usage = Usage()

    @property
    def identity(self) -> str:
        """Names the version of the rules, and what they relate."""
        return f"mentions/rules-{_VERSION}{'?co_mentions' if self._co_mentions else ''}"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the names of the passage in the last message.

        Raises:
            PermanentProviderError: the message ends in no fence.
        """
        body = last_fenced(request.messages[-1].content)
        if body is None:
            raise PermanentProviderError("a request to extract ends in no fence; check custom prompts")
        return ChatResponse(as_rows(find_names(without_marks(body), co_mentions=self._co_mentions)))

    @asynccontextmanager
    async def open(self) -> AsyncIterator["NameFinder"]:
        """Open the finder, as a function that builds opens a model."""
        yield self
