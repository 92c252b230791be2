"""The provider's files and batches."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types import Batch as SDKBatch

from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError
from lightrag_dagster.models.batch.jsonl import read_results
from lightrag_dagster.models.batch.ledger import ENDED, PREPARED, UNDER_WAY, Batch
from lightrag_dagster.models.openai_answers import MALFORMED
from lightrag_dagster.models.openai_client import Endpoint
from lightrag_dagster.models.openai_errors import unusable
from lightrag_dagster.settings import LLMSettings

QUEUE_FULL = "token_limit_exceeded"
"""The error code of OpenAI and Azure for a batch that exceeds the tokens they let wait at once."""

_NAME = "lightrag_batch"
_FINAL = frozenset({"completed", "failed", "expired", "cancelled"})
_TRANSFER_SECONDS = 600.0
_PAGE = 100
_PAGE_RETRIES = 5

Answer = TypeVar("Answer")


class BatchProvider:
    """The files and batches API of a provider. Every method raises ProviderError, after the retries of other calls."""

    def __init__(self, settings: LLMSettings) -> None:
        # Limits per minute are about prompts, which these calls do not carry; files take longer than answers.
        timeout = max(settings.timeout, _TRANSFER_SECONDS)
        unlimited = {"timeout": timeout, "requests_per_minute": None, "tokens_per_minute": None}
        self._endpoint = Endpoint(settings.model_copy(update=unlimited))
        self.target, self._retries = self._endpoint.target, settings.max_retries
        self.path = path_of_requests(self.target.host)
        self.close = self._endpoint.close

    async def upload(self, path: Path) -> str:
        """Upload a request file and return the provider's id of it."""

        async def send(client: AsyncOpenAI) -> str:
            return _text((await client.files.create(file=path, purpose="batch")).id)

        return self._found(await self._call(send))

    async def create(self, batch: Batch, file_id: str, *, again: bool) -> Batch:
        """Create a batch from an uploaded file, labelled with its name, and return it as the provider reports it.

        When the call was made before (`again`, or a try whose outcome is unknown), the batch is looked for first, so
        that it is not created twice. One that was refused for a full queue is prepared again.
        """

        async def send(client: AsyncOpenAI) -> Batch:
            nonlocal again
            if again and (found := await _find(client, batch)):
                return found
            again = True
            try:
                created = await client.batches.create(
                    input_file_id=file_id,
                    endpoint=self.path,  # type: ignore[arg-type]  # some providers have names of their own
                    completion_window="24h",
                    metadata={_NAME: batch.name},
                )
            except openai.APIStatusError as error:
                if error.code != QUEUE_FULL:
                    raise
                return batch.model_copy(update={"status": "failed", "problem": QUEUE_FULL})
            return _reported(batch, created)

        return self._found(await self._call(send))

    async def find(self, batch: Batch) -> Batch | None:
        """Return a batch of unknown id as the provider reports it, or None when it has no such batch."""
        return await self._call(lambda client: _find(client, batch))

    async def poll(self, batch: Batch) -> Batch:
        """Return a submitted batch as the provider reports it; one refused for a full queue is prepared again."""

        async def send(client: AsyncOpenAI) -> Batch:
            return _reported(batch, await client.batches.retrieve(batch.batch_id or ""))

        if found := await self._call(send):
            return found
        raise PermanentProviderError(  # of this batch alone
            f"{self.target.host} has no batch {batch.batch_id}; check that {self.target.key} is of the project that "
            f"submitted it, or give it up with `lightrag-dagster batch cancel {batch.name}`"
        )

    async def download(self, batch: Batch, file_id: str, path: Path, *, of_answers: bool) -> bool:
        """Write a result file of a batch to `path`; return False when the provider no longer has it.

        One `of_answers` that holds none is asked for again, and given up after the last attempt, unless a page of a
        gateway is in its place, and a source waits for it. A file of errors need not name their requests.
        """
        attempts = count()

        async def send(client: AsyncOpenAI) -> bool:
            is_last = next(attempts) == self._retries
            try:
                async with client.files.with_streaming_response.content(file_id) as response:
                    await response.stream_to_file(path)
            except httpx2.TransportError as error:
                # The SDK translates errors before the body, and not those within it.
                raise openai.APIConnectionError(request=error.request) from error
            if of_answers and next(read_results(path, self.target), None) is None:
                if is_last and not (batch.sources and path.read_bytes().lstrip().startswith(b"<")):
                    return False
                problem = f"a page in place of batch {batch.name} of {some_of(batch.sources)}"
                remedy = f"run again; if it stays, give it up with `lightrag-dagster batch cancel {batch.name}`"
                raise unusable(self.target, problem, remedy=remedy)
            return True

        return bool(await self._call(send))

    async def cancel(self, batch_id: str) -> bool:
        """Ask the provider to end a batch; return False when it has no such batch. An ended batch is unaffected."""

        async def send(client: AsyncOpenAI) -> bool:
            with suppress(openai.ConflictError, openai.BadRequestError):
                await client.batches.cancel(batch_id)
            return True

        return bool(await self._call(send))

    async def _call(self, send: Callable[[AsyncOpenAI], Awaitable[Answer]]) -> Answer | None:
        """Make a call; return None for HTTP 404."""

        async def checked(client: AsyncOpenAI) -> Answer | None:
            try:
                return await send(client)
            except openai.NotFoundError:
                return None
            except MALFORMED:
                raise unusable(self.target, "it is not shaped like a file or a batch") from None

        return await self._endpoint.call(checked, 0)

    def _found(self, answer: Answer | None) -> Answer:
        if answer is None:
            raise ProviderAccessError(f"{self.target.host} has no Batch API (HTTP 404); set llm.mode to realtime")
        return answer


def path_of_requests(host: str) -> str:
    """Return the path of the endpoint that batches name at a host; Azure has another than OpenAI and others."""
    return "/chat/completions" if host.endswith(".azure.com") else "/v1/chat/completions"


async def _find(client: AsyncOpenAI, batch: Batch) -> Batch | None:
    # Each page is retried by itself: all pages in one attempt might never succeed.
    async for found in client.with_options(max_retries=_PAGE_RETRIES).batches.list(limit=_PAGE):
        if (found.metadata or {}).get(_NAME) == batch.name:
            reported = _reported(batch, found)
            if reported.state != PREPARED:  # Else the queue was full, and none of it was processed.
                return reported
    return None


def _reported(batch: Batch, found: SDKBatch) -> Batch:
    """Return a batch with the values of the SDK's batch, which are not validated; raises one of MALFORMED."""
    counts, errors = found.request_counts, found.errors.data if found.errors else None
    problem = errors[0].code if errors else None
    if problem is not None and not problem.replace("_", "").isalpha():
        problem = None  # No plain words: it may hold a key or an id.
    status = _text(found.status)
    values = {
        "state": ENDED if status in _FINAL else UNDER_WAY,
        "ended_at": time.time() if status in _FINAL else None,
        "batch_id": _text(found.id),
        "reported_at": time.time(),
        "status": status,
        "finished": max(0, min(int(counts.completed) + int(counts.failed), batch.requests)) if counts else 0,
        "answered": max(0, min(int(counts.completed), batch.requests)) if counts else None,
        "output_file_id": _text(found.output_file_id) if found.output_file_id else None,
        "error_file_id": _text(found.error_file_id) if found.error_file_id else None,
        "problem": problem,
    }
    if status == "failed" and problem == QUEUE_FULL and batch.waiting:
        values |= {"state": PREPARED, "ended_at": None, "batch_id": None}
    return batch.model_copy(update=values)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError("it is not a text that can be stored")
    return value
