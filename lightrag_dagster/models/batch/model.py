"""The language model of an extraction by batch: stored answers are returned, other requests go into batches."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage, rough_tokens
from lightrag_dagster.errors import BudgetExceededError, ProviderAccessError, TransientProviderError
from lightrag_dagster.models.batch.batches import Batches, open_batches
from lightrag_dagster.models.batch.jsonl import request_line
from lightrag_dagster.models.batch.ledger import Batch, WaitingExtraction
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.models.identities import openai_chat_identity
from lightrag_dagster.models.openai_chat import marked_by_batch, request_body
from lightrag_dagster.models.providers import warn_if_unbounded
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.files.atomic import replacing
from lightrag_dagster.storage.home import Home

MAX_REQUESTS = 50_000
MAX_BYTES = 100_000_000
"""Limits of one batch. OpenAI accepts twice the bytes, but they are held in memory until the file is written."""


class BatchedChatModel:
    """A chat model that never waits: a request without a stored answer goes into a batch and fails for now.

    `awaited` names the batches that hold these requests. While there are any, the extraction is not complete.
    """

    def __init__(self, batches: Batches, account: Account, *, backfill: bool, retries: bool) -> None:
        self.identity = openai_chat_identity(batches.settings)
        self.usage = Usage()
        self.awaited: set[str] = set()
        self._batches = batches
        self._account = account
        self._waiting = WaitingExtraction(account.source, backfill, account.run, account.purpose, retries)
        self._batch_of = dict[str, Batch]()
        self._failures = batches.ledger.failures(self._waiting)
        self._spending = Ledger(batches.home.ledger)
        self._limits = self._spending.limits(account)
        self._refused: BudgetExceededError | None = None
        self._start_batch()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the stored answer, or raise the failure that is not retried.

        Raises:
            TransientProviderError: the request is in a batch now.
            ProviderAccessError: the request is in a batch at another provider.
        """
        key = response_key(self.identity, request)
        stored = self._batches.responses.get_many([key])
        if stored:
            self.usage.add(stored[key], stored=True)
            return stored[key]
        if batch := self._batch_of.get(key) or self._batches.ledger.batch_of(key):
            self._await(batch)
        elif key in self._failures:
            raise self._failures[key]
        else:
            self._add(key, request)
        raise TransientProviderError("the answer has not come back from its batch yet; run again")

    def is_stored(self, request: ChatRequest) -> bool:
        """Return True if the answer to a request is stored."""
        return bool(self._batches.responses.known([response_key(self.identity, request)]))

    async def submit(self) -> None:
        """Submit the new batches, and record the ones that the extraction waits for.

        Raises:
            BudgetExceededError: the budget is too small for any of the requests; none is waited for.
            ProviderError: the provider refuses; the next run submits the prepared batches.
        """
        self._prepare()
        self._batches.ledger.wait(self._waiting, self.awaited)  # for none, so that the next run has its own money
        if self._refused and not self.awaited:
            raise self._refused
        await self._batches.submit()

    def _await(self, batch: Batch) -> None:
        if batch.host != self._batches.host:
            raise ProviderAccessError(
                f"batch {batch.name} is open at {batch.host}; set llm.base_url or OPENAI_BASE_URL to that host again, "
                f"or give the batch up with `lightrag-dagster batch cancel {batch.name}`"
            )
        self.awaited.add(batch.name)

    def _add(self, key: str, request: ChatRequest) -> None:
        """Add a request to the new batch, unless it may exceed the budget."""
        tokens, settings = rough_tokens(request), self._batches.settings
        limit = request.max_output_tokens or settings.max_output_tokens
        worst = self._batches.price.most(tokens, limit)
        exceeded = [limit for limit in self._limits if limit.spent + worst > limit.usd]
        if exceeded:
            self._refused = exceeded[0].exceeded(worst)
            return
        self._limits = [limit._replace(spent=limit.spent + worst) for limit in self._limits]
        marked = marked_by_batch(self._batches.host, settings.model)
        line = request_line(key, self._batches.path, request_body(settings, request, marked=marked))
        quota = settings.enqueued_tokens
        if (
            self._new.requests == MAX_REQUESTS
            or self._bytes + len(line) > MAX_BYTES
            or (quota is not None and self._new.tokens + tokens > quota)
        ):
            self._prepare()
        self._lines[key] = line
        self._bytes += len(line)
        self._new.requests += 1
        self._new.tokens += tokens
        self._new.worst_usd += worst
        self._batch_of[key] = self._new
        self.awaited.add(self._new.name)

    def _start_batch(self) -> None:
        account, batches = self._account, self._batches
        self._new = Batch(
            run=account.run,
            source=account.source,
            purpose=account.purpose,
            host=batches.host,
            model=batches.settings.model,
            price=batches.price,
            waiting=[self._waiting],
        )
        self._lines: dict[str, bytes] = {}
        self._bytes = 0

    def _prepare(self) -> None:
        """Write the request file of the new batch, record it as prepared, and start another.

        Its requests are dropped if others have spent the money for it since the model was opened.
        """
        if not self._lines:
            return
        new = self._new
        if exceeded := self._spending.reserve(new.name, self._account, new.worst_usd):
            self._refused = exceeded.exceeded(new.worst_usd)
            self._limits = self._spending.limits(self._account)
            self._batch_of = {key: batch for key, batch in self._batch_of.items() if batch is not new}
            self.awaited.remove(new.name)
        else:
            with replacing(self._batches.home.batch_files / f"{new.name}.jsonl") as path, path.open("wb") as file:
                file.writelines(self._lines.values())
            self._batches.ledger.add(new, self._lines)
        self._start_batch()


@asynccontextmanager
async def open_batched_chat_model(
    settings: LLMSettings, home: Home, account: Account, *, backfill: bool = False, retries: bool = False
) -> AsyncIterator[BatchedChatModel]:
    """Open the model for the extraction of the account's source, for the block, in one event loop.

    It is that of a `backfill` or not; one that `retries` asks also about what failed for good.

    Batches that have ended are collected before the block; prepared ones are submitted after it, unless it raised.

    Raises:
        ProviderError: the provider cannot be used; see `Batches`.
        StoreError: a store cannot be used.
    """
    warn_if_unbounded(settings.of("extract"), account)
    async with open_batches(settings, home) as batches:
        await batches.poll_for(account.source, account.purpose)
        await batches.collect(account.source)
        batches.remove_files()
        model = BatchedChatModel(batches, account, backfill=backfill, retries=retries)
        try:
            yield model
            await model.submit()
        finally:
            Ledger(home.ledger).add(account.entry("extract", model.identity, model.usage))
