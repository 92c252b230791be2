"""The stored answers of a model in place of the model: what costs nothing can be tried, and told from the rest."""

from collections.abc import Callable, Iterable

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, FreeModel
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.storage.database.responses import ResponseStore

Otherwise = Callable[[str, ChatRequest], str]
"""A function from a question without a stored answer, and its key, to a text in place of an answer; empty for none."""


class StoredAnswers(FreeModel):
    """The stored answers of the model of an identity; `used` has the keys of those that were given.

    A question without one gets the text of `otherwise`, or fails without a text.
    """

    def __init__(self, identity: str, store: ResponseStore, otherwise: Otherwise | None = None) -> None:
        super().__init__()
        self.identity = identity
        self.used: set[str] = set()
        self._store = store
        self._otherwise = otherwise

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored answer, or a text in place of it; raises TransientProviderError."""
        key = response_key(self.identity, request)
        if stored := self._store.get_many([key]).get(key):
            self.used.add(key)
            return stored
        if self._otherwise and (text := self._otherwise(key, request)):
            return ChatResponse(text)
        raise TransientProviderError("no answer is stored")

    def known(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys of answers that are stored."""
        return self._store.known(keys)

    def is_stored(self, request: ChatRequest) -> bool:
        """Return True if the answer to a request is stored."""
        return bool(self.known([response_key(self.identity, request)]))
