"""The batches of a home at one provider: submit them, poll them, collect their answers, cancel them."""

import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from lightrag_dagster.core.protocols import ChatResponse, Usage
from lightrag_dagster.errors import ProviderAccessError, ProviderAwayError, ProviderError, StoreError
from lightrag_dagster.models.batch import jsonl
from lightrag_dagster.models.batch.ledger import COLLECTED, ENDED, OPEN, PREPARED, UNDER_WAY, Batch, BatchLedger
from lightrag_dagster.models.batch.provider import QUEUE_FULL, BatchProvider
from lightrag_dagster.models.identities import openai_chat_identity
from lightrag_dagster.models.openai_answers import Most
from lightrag_dagster.models.openai_errors import FailedCallError
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import Price, price_of
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import using_batches
from lightrag_dagster.storage.locks.base import STEP_SECONDS

RECENT_SECONDS = 300.0
"""Age of a report of the provider about a batch that is as good as another, for those who do not wait for the batch."""

_ROWS = 1000
_log = logging.getLogger(__name__)


class Batches:
    """The batches of one home. Only `poll` does not need the lock; coroutines raise ProviderError and StoreError."""

    def __init__(
        self, settings: LLMSettings, home: Home, provider: BatchProvider, ledger: BatchLedger, responses: ResponseStore
    ) -> None:
        """Use the settings of the role `extract`."""
        self.settings = settings
        self.home = home
        self.ledger = ledger
        self.responses = responses
        self.host = provider.target.host
        self.path = provider.path
        self.price = price_of(settings, batch=True)
        self._provider = provider

    def at_this_host(self, *states: str) -> list[Batch]:
        """Return the batches in some states at the host of the settings, oldest first."""
        return [batch for batch in self.ledger.batches(*states) if batch.host == self.host]

    async def poll(self) -> None:
        """Ask the provider for the state of each submitted batch; an error of one is raised after the others."""
        await _each(self.at_this_host(UNDER_WAY), self._poll)

    async def poll_for(self, source: str, purpose: str) -> None:
        """Ask for the state of the batches that a source waits for, for a purpose, and of those long not asked about.

        So a run over many sources asks about each batch once, and not again for each source.
        """
        recent, own, others = time.time() - RECENT_SECONDS, list[Batch](), list[Batch]()
        for batch in self.ledger.to_poll(source, recent):
            waits = (source, purpose) in {(one.source, one.purpose) for one in batch.waiting}
            if batch.host == self.host and (waits or batch.reported_at < recent):
                (own if waits else others).append(batch)
        await _each(own, self._poll)
        with suppress(ProviderError):  # which holds those up who wait for them, and no other
            await _each(others, self._poll)

    async def _poll(self, batch: Batch) -> None:
        self.ledger.replace(batch, await self._provider.poll(batch))

    async def collect(self, source: str = "") -> None:
        """Store the answers of each batch that has ended, first those for a source, and settle unanswered requests.

        Raises:
            ProviderAccessError: a person must act; all answers are stored.
            ProviderError: the answers of a batch cannot be had now; those of the others are stored.
        """
        await _each(sorted(self.at_this_host(ENDED), key=lambda one: source not in one.sources), self._collect)

    async def submit(self) -> None:
        """Submit prepared batches, oldest first, while the token quota and the provider's queue have room.

        A batch that was refused for a full queue is submitted again once another batch of this home has ended. One that
        no extraction waits for any more, as after a change of the model or the prompts, is given up.

        Raises:
            ProviderAccessError: the queue is full, and no batch of this home is in it.
        """
        quota, busy = self.settings.enqueued_tokens, Counter[str]()
        for other in self.at_this_host(UNDER_WAY):
            busy[other.model] += other.tokens
        prepared = self.at_this_host(PREPARED)
        refused = any(batch.problem for batch in prepared)
        last_end = max((other.ended_at or 0.0 for other in self.at_this_host() if refused), default=0.0)
        for batch in prepared:
            if not batch.waiting:
                told = "batch %s of %d requests to model %s is given up, since no extraction waits for its answers"
                _log.warning(told, batch.name, batch.requests, batch.model)
                await self.cancel(batch)
                continue
            if quota is not None and busy[batch.model] and busy[batch.model] + batch.tokens > quota:
                continue
            if batch.problem is None or last_end > (batch.submitted_at or 0.0):
                batch = await self._submit(batch)
            if batch.state == UNDER_WAY:
                busy[batch.model] += batch.tokens
            if batch.problem == QUEUE_FULL:
                if busy:
                    return
                self.ledger.save(batch.model_copy(update={"problem": None}))
                raise ProviderAccessError(
                    f"the queue of {self.host} has no room for batch {batch.name} of about {batch.tokens:,} tokens, "
                    "and no other batch of this home is in it; run again later, or cancel the batch, set "
                    f"llm.enqueued_tokens to your limit for model {batch.model}, and run again"
                )

    async def cancel(self, batch: Batch) -> bool:
        """Cancel an open batch; return True if the provider still has to end it.

        Extractions no longer wait for it. Its answers so far are stored once it has ended. One that was submitted to
        another host, or that the key does not show, cannot be ended, and counts with the most that it can cost.
        """
        here = batch.host == self.host
        if here and batch.state == PREPARED and batch.submitted_at is not None:
            batch = await self._provider.find(batch) or batch
        known = here and batch.batch_id is not None and await self._provider.cancel(batch.batch_id)
        values: dict[str, Any] = {"state": COLLECTED, "ended_at": time.time(), "status": "given up"}
        if known:
            values = {"state": UNDER_WAY, "status": "cancelling", "reported_at": 0.0}
        may_run = (batch.batch_id if here else batch.submitted_at) is not None
        if not known and may_run and batch.problem != QUEUE_FULL:
            self._book(batch, Usage(calls=batch.requests, input_tokens=batch.tokens, cost_usd=batch.worst_usd))
            values["cost_usd"] = batch.worst_usd
        self.ledger.save(batch.model_copy(update=values | {"waiting": []}))
        self.remove_files()
        return known

    def remove_files(self) -> None:
        """Remove the files of collected batches, and what a killed process left: unfinished files, money set aside."""
        names = set(self.ledger.names(*OPEN))
        Ledger(self.home.ledger).release_other_batches(names)
        for path in self.home.batch_files.glob("*"):
            if path.stem not in names:
                path.unlink(missing_ok=True)

    def _request_file(self, batch: Batch) -> Path:
        path = self.home.batch_files / f"{batch.name}.jsonl"
        if not path.exists():
            raise StoreError(f"{path} is gone; restore it, or run `lightrag-dagster batch cancel {batch.name}`")
        return path

    async def _submit(self, batch: Batch) -> Batch:
        file_id = await self._provider.upload(self._request_file(batch))
        submitted = batch.model_copy(update={"submitted_at": time.time()})
        self.ledger.save(submitted)  # Before the call: if its outcome is lost, the next run looks for the batch first.
        submitted = await self._provider.create(submitted, file_id, again=batch.submitted_at is not None)
        self.ledger.save(submitted)
        return submitted

    async def _collect(self, batch: Batch) -> None:
        """Collect one batch; raise the error that a person must act on."""
        # The settings may name another model by now, and no longer a price that was set by hand.
        price = price_of(self.settings.model_copy(update={"model": batch.model}), batch=True)
        found = await self._read_answers(batch, price if price.known else batch.price)
        if found.others:
            told = "batch %s has %d answers under ids of no request of it; they are neither stored nor booked"
            _log.warning(told, batch.batch_id, found.others)
        if lost := found.lost(batch):
            found.usage += Usage(calls=lost, cost_usd=lost * batch.worst_usd / batch.requests)
            told = "%d answers of batch %s are gone from %s or cannot be read; they count with the most they can cost"
            _log.warning(f"{told}, and are asked again", lost, batch.batch_id, batch.host)
        self._book(batch, found.usage)
        collected = batch.model_copy(update={"finished": len(found.answered), "cost_usd": found.usage.cost_usd})
        self._settle_unanswered(collected, found.answered, found.failures)

    def _book(self, batch: Batch, usage: Usage) -> None:
        """Enter the calls of a batch in the ledger, once: a process may be killed before the batch is saved."""
        asked = self.settings.model_copy(update={"model": batch.model})
        entry = Account(batch.run, batch.source, purpose=batch.purpose).entry(
            "extract", openai_chat_identity(asked), usage
        )
        Ledger(self.home.ledger).add(entry, receipt=batch.name, reserved=batch.name)

    async def _read_answers(self, batch: Batch, price: Price) -> "_Results":
        """Store the answers in the result files of a batch, and return what the files hold."""
        found = _Results()
        requests = self.ledger.keys_of(batch)
        most = Most(batch.tokens // max(1, batch.requests), self.settings.max_output_tokens)
        async for outcomes in self._results(batch, found.gone, most):
            answers: dict[str, ChatResponse] = {}
            for key, outcome in outcomes:
                if key not in requests:
                    found.others += 1
                elif isinstance(outcome, FailedCallError):
                    lost = outcome.billed
                    if lost and key not in found.failures:
                        found.usage.add(replace(lost, cost_usd=price.of(*lost.billed)), stored=False)
                    found.failures[key] = outcome.error
                elif key not in found.answered:
                    found.answered.add(key)
                    answers[key] = replace(outcome, cost_usd=price.of(*outcome.billed))
                    found.usage.add(answers[key], stored=False)
            self.responses.put_many(answers)
        return found

    async def _results(self, batch: Batch, gone: list[str], most: Most) -> AsyncIterator[list[jsonl.RequestOutcome]]:
        """Yield the outcomes in the provider's result files, in blocks; a file that is lost is put to those `gone`."""
        path = self.home.batch_files / f"{batch.name}.results"
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)  # the batch may be of another machine
                of_answers = file_id == batch.output_file_id and batch.answered != 0
                found = await self._provider.download(batch, file_id, path, of_answers=of_answers)
            except OSError as error:
                message = f"cannot write {path}: {error.strerror or error}"
                raise StoreError(f"{message}; fix that and run again, the answers stay at the provider") from error
            gone += [] if found else [file_id]
            target = replace(self._provider.target, model=batch.model)
            outcomes = jsonl.read_results(path, target, most) if found else iter(())
            while some := list(islice(outcomes, _ROWS)):
                yield some

    def _settle_unanswered(self, batch: Batch, answered: set[str], failures: dict[str, ProviderError]) -> None:
        """Save a batch as collected, with the failures of its unanswered requests; raise an error for a person.

        After such an error no extraction waits for the batch, so that only a person starts the next attempt.
        """
        default = jsonl.unanswered(self._provider.target, batch.status).error
        missing = {key: failures.get(key, default) for key in self.ledger.keys_of(batch) - answered}
        access_error = next((error for error in missing.values() if isinstance(error, ProviderAccessError)), None)
        if batch.status == "failed" and batch.problem != QUEUE_FULL:
            access_error = ProviderAccessError(
                f"{batch.host} did not accept batch {batch.batch_id} for model {batch.model}"
                f"{f': {batch.problem}' if batch.problem else ''}; fix that (the batch's page at the provider says "
                "more), then run again"
            )
        values: dict[str, Any] = {"unanswered": {key: (type(one).__name__, str(one)) for key, one in missing.items()}}
        if access_error is not None or not batch.waiting:
            values = {"waiting": []}
        self.ledger.save(batch.model_copy(update=values | {"state": COLLECTED}))
        self.remove_files()
        if access_error:
            raise access_error


async def _each(batches: Iterable[Batch], act: Callable[[Batch], Awaitable[None]]) -> None:
    """Do something with each batch, also after an error, unless the provider is away; raise the first one."""
    errors = list[ProviderError]()
    for batch in batches:
        try:
            await act(batch)
        except ProviderError as error:
            errors.append(error)
            if isinstance(error, ProviderAwayError):
                break
    # First what is said once: its batch is collected.
    for first in sorted(errors, key=lambda one: type(one) is not ProviderAccessError):
        raise first


@dataclass
class _Results:
    """The result files of a batch: keys with an answer and with a failure, the calls, and what is not as it should be.

    `others` counts answers under ids of no request; `gone` has the ids of files without a result, or deleted.
    """

    answered: set[str] = field(default_factory=set)
    failures: dict[str, ProviderError] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    others: int = 0
    gone: list[str] = field(default_factory=list)

    def lost(self, batch: Batch) -> int:
        """Count the answers that the provider may have billed and that are neither read nor booked."""
        untold = batch.requests - len(self.failures.keys() | self.answered)
        if batch.answered is None:
            return untold if batch.output_file_id in self.gone else 0
        return max(0, min(untold, batch.answered - self.usage.calls))  # some servers count failures too


@asynccontextmanager
async def open_batches(settings: LLMSettings, home: Home, *, exclusive: bool = True) -> AsyncIterator[Batches]:
    """Open the batches of a home for the block; `settings` are the general ones. `exclusive` takes the lock.

    Raises:
        StoreError: a store cannot be used, or another process has held the lock for an hour.
        ProviderAccessError: the address is not a URL.
    """
    own = settings.of("extract")
    with (
        ResponseStore(home.responses) as responses,
        BatchLedger(home.batches) as ledger,
        using_batches(home, STEP_SECONDS) if exclusive else nullcontext(),
    ):
        provider = BatchProvider(own)
        try:
            yield Batches(own, home, provider, ledger, responses)
        finally:
            await provider.close()
