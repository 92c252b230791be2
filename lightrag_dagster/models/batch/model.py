"""The language model of an extraction by batch: what is stored it answers, the rest it puts into batches."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage, rough_tokens
from lightrag_dagster.errors import BudgetExceededError, ProviderAccessError, TransientProviderError
from lightrag_dagster.models.batch.batches import Batches, open_batches
from lightrag_dagster.models.batch.jsonl import RequestFile, Spool
from lightrag_dagster.models.batch.ledger import OPEN, PREPARED, Batch
from lightrag_dagster.models.identities import openai_chat_identity
from lightrag_dagster.models.openai_chat import request_body
from lightrag_dagster.models.stored import response_key
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import BATCH_SHARE
from lightrag_dagster.storage.home import Home


class BatchedChatModel:
    """A chat model that never waits: a question without a stored answer goes into a batch and fails for now.

    `awaited` are the names of the batches that hold questions which were asked. As long as there are any, what was made
    of the answers is unfinished.
    """

    def __init__(self, batches: Batches, account: Account) -> None:
        self._batches = batches
        self._account = account
        self._left = self._budget_left()
        self._refused = 0
        # A batch elsewhere is out of reach: OPENAI_BASE_URL was changed while it was under way.
        self._elsewhere = {batch.name: batch for batch in batches.ledger.batches(*OPEN) if batch.host != batches.host}
        self._spool = Spool(batches.home.batch_files, batches.settings.batch, batches.room(), self._prepare)
        self.usage = Usage()
        self.awaited: set[str] = set()

    @property
    def identity(self) -> str:
        """Identity of the model behind, in real time and in a batch alike."""
        return openai_chat_identity(self._batches.settings)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored answer, or raise the failure that settled the question.

        Raises:
            TransientProviderError: the question is in a batch now.
            ProviderAccessError: it is in a batch at another provider.
        """
        key = response_key(self.identity, request)
        stored = self._batches.responses.get_many([key])
        if stored:
            self.usage.add(stored[key], stored=True)
            return stored[key]
        item = self._batches.ledger.item(key)
        if item and item.failure:
            raise item.failure
        if item and item.batch:
            self._await(item.batch)
        elif key not in self._spool:
            self._ask(key, request)
        raise TransientProviderError("the answer has not come back from its batch yet; run again")

    async def submit(self) -> None:
        """Submit all that was asked, and remember who waits for it.

        Raises:
            BudgetExceededError: the budget is too small for any of it.
            ProviderError: the provider refuses; what is prepared is submitted by the next run.
        """
        self._spool.seal()
        ledger, account = self._batches.ledger, self._account
        if self.awaited:
            ledger.wait(account.source, sorted(self.awaited), account.run)
        elif self._refused:
            raise BudgetExceededError(
                f"the budget of ${account.max_cost_usd:.4g} is used up: ${self._left:.4g} of it is left and the next "
                "request may cost more; all that was answered is kept, raise --max-cost or llm.max_cost_usd and run "
                "again"
            )
        else:
            ledger.finish(account.source)
        await self._batches.submit()

    def close(self) -> None:
        """Let go of the file that is being written."""
        self._spool.close()

    def _await(self, name: str) -> None:
        elsewhere = self._elsewhere.get(name)
        if elsewhere is not None:
            raise ProviderAccessError(
                f"batch {name} is under way at {elsewhere.host}; set OPENAI_BASE_URL to it again, or give the batch up "
                f"with `lightrag-dagster batch cancel {name}`"
            )
        self.awaited.add(name)

    def _ask(self, key: str, request: ChatRequest) -> None:
        tokens, settings = rough_tokens(request), self._batches.settings
        limit = request.max_output_tokens or settings.max_output_tokens
        worst = BATCH_SHARE * self._batches.price.of(tokens, limit)
        if self._left is not None:
            if worst > self._left:
                self._refused += 1
                return
            self._left -= worst
        self._spool.add(key, request_body(settings, request), tokens, worst)

    def _prepare(self, file: RequestFile) -> None:
        batch = Batch(
            name=file.name,
            run=self._account.run,
            source=self._account.source,
            host=self._batches.host,
            model=self._batches.settings.model,
            requests=len(file.keys),
            tokens=file.tokens,
            worst_usd=file.worst_usd,
            prepared_at=time.time(),
        )
        self._batches.ledger.add(batch, file.keys)
        self.awaited.add(file.name)

    def _budget_left(self) -> float | None:
        """Return what the run may still spend when all that is under way for it costs as much as it can."""
        limit, run = self._account.max_cost_usd, self._account.run
        if limit is None:
            return None
        promised = sum(batch.worst_usd for batch in self._batches.ledger.batches(*OPEN) if batch.run == run)
        return limit - promised - Ledger(self._batches.home.ledger).spent(run)


@asynccontextmanager
async def open_batched_chat_model(
    settings: LLMSettings, home: Home, account: Account
) -> AsyncIterator[BatchedChatModel]:
    """Open the model for one source's extraction, for the block, in one event loop.

    Before the block the answers that have come back are stored; after it, unless it raised, what was asked in it and is
    not under way yet is submitted.

    Raises:
        ProviderError: the provider cannot be used; see `Batches`.
        StoreError: a store cannot be used.
    """
    async with open_batches(settings, home) as batches:
        await batches.look()
        await batches.collect()
        _sweep(batches)
        model = BatchedChatModel(batches, account)
        try:
            yield model
            await model.submit()
        finally:
            model.close()
            Ledger(home.ledger).add(account.entry("extract", model.identity, model.usage))


def _sweep(batches: Batches) -> None:
    """Remove files of requests that a killed process did not finish; nothing of them was submitted."""
    names = {batch.name for batch in batches.ledger.batches(PREPARED)}
    for path in batches.home.batch_files.glob("*.jsonl"):
        if path.stem not in names:
            path.unlink(missing_ok=True)
