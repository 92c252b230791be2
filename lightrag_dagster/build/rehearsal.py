"""A build that is gone through with stored answers alone: it asks no model and writes nothing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.models.stored import response_key
from lightrag_dagster.stages.merging.inputs import MergeInput
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.build.versions import Versions

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.merge import Merged


class Rehearsal(ABC):
    """Stands in for a model: answers from the response store where it can."""

    def __init__(self, identity: str, store: ResponseStore) -> None:
        self._store = store
        self.identity = identity

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored answer, or what `missing` returns; raises what it raises."""
        key = response_key(self.identity, request)
        return self._store.get_many([key]).get(key) or self.missing(request)

    @abstractmethod
    def missing(self, request: ChatRequest) -> ChatResponse:
        """Answer a request whose answer is not stored, or raise."""


async def rehearse_merge(versions: Versions, inputs: Sequence[MergeInput], model: Rehearsal) -> "Merged":
    """Merge everything by today's recipe.

    Raises:
        StoreError: a file is damaged, or the disk is full.
    """
    from lightrag_dagster.stages.merging.merge import merge

    settings = versions.settings
    return await merge(
        inputs,
        scratch=Home(settings.home).root,
        extraction_fingerprint=versions.extractions,
        embedder_identity=versions.embedder,
        model=model,
        prompts=versions.prompts,
        settings=settings.merging,
        count_tokens=load_tokenizer(settings.chunking.encoding).counts,
        max_concurrency=1,
    )
