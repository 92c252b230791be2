"""A model that answers from the response store alone and counts the questions that it could not answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage
from lightrag_dagster.core.roles import Role
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.spending.prices import question_tokens
from lightrag_dagster.storage.database.responses import ResponseStore

NOT_STORED = "not stored"
"""The error of an extraction whose question is counted."""

PLACEHOLDER = "(a summary that is not made yet)"
"""Beginning of a summary that is not made yet."""


class DryRunModel:
    """The model of a role that answers from the response store, and counts the tokens of what is not stored, once each.

    A missing answer is `placeholder`, or TransientProviderError without one. Tokens of questions that continue a
    conversation, or contain a placeholder, are in `later`, those of all others in `first`. `used` has the keys of the
    answers that were given.
    """

    awaited: frozenset[str] = frozenset()

    def __init__(self, recipes: Recipes, role: Role, store: ResponseStore, placeholder: str = "") -> None:
        self.identity = chat_identity(recipes.settings.llm.of(role))
        self.usage = Usage()
        self.first: list[int] = []
        self.later: list[int] = []
        self.used: set[str] = set()
        self._store = store
        self._count_tokens = load_tokenizer(recipes.settings.chunking.encoding).counts
        self._placeholder = placeholder
        self._asked: set[str] = set()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored answer or the placeholder."""
        key = response_key(self.identity, request)
        if stored := self._store.get_many([key]).get(key):
            self.used.add(key)
            return stored
        if key not in self._asked:
            self._asked.add(key)
            follows = any(one.role == "assistant" or PLACEHOLDER in one.content for one in request.messages)
            (self.later if follows else self.first).append(question_tokens(request, self._count_tokens))
        if self._placeholder:
            return ChatResponse(self._placeholder)
        raise TransientProviderError(NOT_STORED)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["DryRunModel"]:
        """Open the model, as a function that builds opens one."""
        yield self
