"""What is done with batches: submit them, look how far they are, collect their answers, cancel them."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout

from lightrag_dagster.core.protocols import ChatResponse, Usage
from lightrag_dagster.errors import BuilderLockedError, ProviderAccessError, StoreError
from lightrag_dagster.models.batch.jsonl import request_path
from lightrag_dagster.models.batch.ledger import ENDED, PREPARED, UNDER_WAY, Batch, BatchLedger, Verdict
from lightrag_dagster.models.batch.provider import NO_ROOM, BatchProvider
from lightrag_dagster.models.batch.results import not_answered, read_results
from lightrag_dagster.models.identities import openai_chat_identity
from lightrag_dagster.models.openai_errors import FailedCallError
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.ledger import Entry, Ledger
from lightrag_dagster.spending.prices import BATCH_SHARE, price_of
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore

_LOCK_SECONDS = 3600.0  # an upload of many files takes long, and a night is longer
_ROWS = 1000


class Batches:
    """The batches of one home at one provider. Whoever changes more than `look` does holds the lock of `open_batches`.

    Every coroutine raises ProviderError and StoreError.
    """

    def __init__(
        self, settings: LLMSettings, home: Home, provider: BatchProvider, ledger: BatchLedger, responses: ResponseStore
    ) -> None:
        """Use the settings of the role `extract`."""
        self.settings = settings
        self.home = home
        self.ledger = ledger
        self.responses = responses
        self.host = provider.target.host
        self.price = price_of(settings.provider, settings.model, settings.prices)
        self._provider = provider

    def mine(self, *states: str) -> list[Batch]:
        """Return the batches in some states that are at the provider of OPENAI_BASE_URL, the oldest first."""
        return [batch for batch in self.ledger.batches(*states) if batch.host == self.host]

    def room(self) -> int | None:
        """Return how many tokens may be under way at once, as far as anybody knows."""
        limits = (self.settings.batch.enqueued_tokens, self.ledger.learnt_room(self.host, self.settings.model))
        return min((limit for limit in limits if limit is not None), default=None)

    async def look(self) -> None:
        """Ask how far each batch under way is."""
        for batch in self.mine(UNDER_WAY):
            assert batch.batch_id is not None
            report = await self._provider.report(batch.batch_id)
            self.ledger.update(
                batch,
                status=report.status,
                finished=report.finished,
                output_file_id=report.output_file_id,
                error_file_id=report.error_file_id,
                problem=report.problem,
                **({"state": ENDED, "ended_at": time.time()} if report.ended else {}),
            )

    async def collect(self) -> None:
        """Store the answers of each batch that has ended, and decide about the requests that it left unanswered.

        Raises:
            ProviderAccessError: a person must act; all answers were stored before.
        """
        trouble = None
        for batch in self.mine(ENDED):
            trouble = await self._collect(batch) or trouble
        if trouble is not None:
            raise trouble

    async def submit(self) -> None:
        """Submit what is prepared, the oldest first, as far as the provider's queue has room."""
        room = self.room()
        for batch in self.mine(PREPARED):
            busy = sum(other.tokens for other in self.mine(UNDER_WAY) if other.model == batch.model)
            if room is None or not busy or busy + batch.tokens <= room:
                await self._submit(batch)

    async def cancel(self, batch: Batch) -> bool:
        """Make an open batch end; say whether the provider still has to end it.

        Nobody waits for it any more. What it answered is stored, by the next run at the latest; the rest is submitted
        again by whoever asks for it again.
        """
        batch_id = batch.batch_id
        if batch.state == PREPARED and batch.attempted:
            found = await self._provider.find(batch.name)
            batch_id = found.batch_id if found else None
        known = batch_id is not None and batch.host == self.host and await self._provider.cancel(batch_id)
        self.ledger.give_up(batch)
        if known:
            self.ledger.update(batch, state=UNDER_WAY, batch_id=batch_id, status="cancelling")
        else:
            unanswered = {key: Verdict(attempts) for key, attempts in self.ledger.items(batch).items()}
            self.ledger.collected(batch, unanswered, status="given up")
        self._remove_files(batch)
        return known

    async def _submit(self, batch: Batch) -> None:
        path = request_path(self.home.batch_files, batch.name)
        file_id = batch.file_id
        if file_id is None:
            if not path.exists():
                raise StoreError(f"{path} is gone; give it up with `lightrag-dagster batch cancel {batch.name}`")
            file_id = await self._provider.upload(path)
        # Durable before the call: if nobody hears its outcome, the batch is looked for before it is created again.
        self.ledger.update(batch, file_id=file_id, attempted=True)
        report = await self._provider.create(batch.name, file_id, attempted=batch.attempted)
        state = {"state": ENDED, "ended_at": time.time()} if report.batch_id is None else {"state": UNDER_WAY}
        self.ledger.update(batch, batch_id=report.batch_id, status=report.status, problem=report.problem, **state)
        self._remove_files(batch)

    async def _collect(self, batch: Batch) -> ProviderAccessError | None:
        """Collect one batch and return what a person must know."""
        missing, failures, usage = self.ledger.items(batch), dict[str, FailedCallError](), Usage()
        path = self.home.batch_files / f"{batch.name}.results"
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            if not await self._download(file_id, path):
                continue  # somebody deleted it, or 30 days have passed: its requests are unanswered
            answers: dict[str, ChatResponse] = {}
            for key, outcome in read_results(path, self._provider.target):
                if isinstance(outcome, FailedCallError):
                    failures[key] = outcome
                elif key in missing:  # else it is the second line of a request, or of nobody's
                    del missing[key]
                    answers[key] = self._priced(outcome)
                    usage.add(answers[key], stored=False)
                if len(answers) == _ROWS:
                    self.responses.put_many(answers)
                    answers = {}
            self.responses.put_many(answers)
        verdicts, trouble = self._judge(batch, missing, failures)
        self._pay(batch, usage)
        no_room = self._room_after(batch) if batch.problem == NO_ROOM else None
        self.ledger.collected(batch, verdicts, finished=usage.calls, cost_usd=usage.cost_usd, room=no_room)
        if trouble is not None:
            self.ledger.give_up(batch)
        self._remove_files(batch)
        return trouble

    async def _download(self, file_id: str, path: Path) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return await self._provider.download(file_id, path)
        except OSError as error:
            what = f"cannot write {path}: {error.strerror or error}"
            raise StoreError(f"{what}; mend that and run again, the answers stay at the provider") from error

    def _judge(
        self, batch: Batch, missing: dict[str, int], failures: dict[str, FailedCallError]
    ) -> tuple[dict[str, Verdict], ProviderAccessError | None]:
        """Decide which unanswered requests are submitted again; also return what a person must act on."""
        verdicts, trouble = dict[str, Verdict](), None
        # A single request that the queue has no room for would go round for ever.
        no_room = batch.problem == NO_ROOM and batch.requests == 1
        free = batch.status == "cancelled" or (batch.status == "failed" and not no_room)
        if batch.status == "failed" and batch.problem != NO_ROOM:
            trouble = ProviderAccessError(
                f"{batch.host} did not accept batch {batch.batch_id} for model {batch.model}"
                f"{f': {batch.problem}' if batch.problem else ''}; mend that (its page at the provider says more), "
                "then run again"
            )
        why = "it was still waiting when the batch expired" if batch.status == "expired" else "no reason is given"
        for key, tried in missing.items():
            failed = failures.get(key) or not_answered(self._provider.target, why)
            if isinstance(failed.error, ProviderAccessError):
                trouble = failed.error
                verdicts[key] = Verdict(tried)
            elif free and key not in failures:
                verdicts[key] = Verdict(tried)
            else:
                final = not failed.retry or tried + 1 >= self.settings.batch.max_attempts
                verdicts[key] = Verdict(tried + 1, failed.error if final else None)
        return verdicts, trouble

    def _priced(self, answer: ChatResponse) -> ChatResponse:
        tokens = (answer.input_tokens, answer.output_tokens, answer.cached_input_tokens)
        return replace(answer, cost_usd=BATCH_SHARE * self.price.of(*tokens))

    def _pay(self, batch: Batch, usage: Usage) -> None:
        """Enter what the answers cost into the home's ledger, on the account of the run that submitted them."""
        if usage.calls:
            tokens = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
            model = openai_chat_identity(self.settings)
            entry = Entry(batch.run, "extract", batch.source, model, usage.calls, 0, *tokens, usage.cost_usd)
            # A receipt, for a process may die before it notes that the batch is collected.
            Ledger(self.home.ledger).add(entry, receipt=batch.name)

    def _room_after(self, batch: Batch) -> int:
        """Return how many tokens to try next: what the provider did accept, or half of what it refused."""
        accepted = sum(other.tokens for other in self.mine(UNDER_WAY) if other.model == batch.model)
        return max(accepted, batch.tokens // 2)

    def _remove_files(self, batch: Batch) -> None:
        for path in (request_path(self.home.batch_files, batch.name), self.home.batch_files / f"{batch.name}.results"):
            path.unlink(missing_ok=True)


@asynccontextmanager
async def open_batches(settings: LLMSettings, home: Home, *, exclusive: bool = True) -> AsyncIterator[Batches]:
    """Open the batches of a home for the block; `settings` are the general ones.

    Unless `exclusive` is false nobody else submits, collects or cancels meanwhile.

    Raises:
        StoreError: a store cannot be used, or another process is at it for an hour.
        ProviderAccessError: OPENAI_BASE_URL is not a URL.
    """
    own = settings.of("extract")
    with _locked(home, exclusive), ResponseStore(home.responses) as responses, BatchLedger(home.batches) as ledger:
        provider = BatchProvider(own)
        try:
            yield Batches(own, home, provider, ledger, responses)
        finally:
            await provider.close()


@contextmanager
def _locked(home: Home, exclusive: bool) -> Iterator[None]:
    if not exclusive:
        yield
        return
    lock = FileLock(home.batches_lock)
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_LOCK_SECONDS)
    except Timeout as error:
        raise BuilderLockedError(
            f"another process has been busy with the batches of {home.root} for an hour; end it, then run again"
        ) from error
    except OSError as error:
        raise StoreError(f"cannot lock {home.batches_lock}: {error.strerror or error}; make it writable") from error
    try:
        yield
    finally:
        lock.release()
