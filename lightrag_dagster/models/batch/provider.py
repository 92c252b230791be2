"""The provider's files and batches."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types import Batch as SDKBatch

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.batch.jsonl import read_results
from lightrag_dagster.models.openai_chat import MALFORMED
from lightrag_dagster.models.openai_client import Endpoint
from lightrag_dagster.models.openai_errors import unusable
from lightrag_dagster.settings import LLMSettings

QUEUE_FULL = "token_limit_exceeded"
"""The error code of OpenAI and Azure for a batch that exceeds the tokens they let wait at once."""

_NAME = "lightrag_batch"
_TRANSFER_SECONDS = 600.0
_PAGE = 100
_PAGE_RETRIES = 5

Answer = TypeVar("Answer")


class Report(NamedTuple):
    """What the provider says of a batch; the fields are those of the batch ledger."""

    batch_id: str | None
    status: str
    finished: int = 0
    output_file_id: str | None = None
    error_file_id: str | None = None
    problem: str | None = None

    @property
    def queue_full(self) -> bool:
        """Whether the provider refused the batch because its queue is full; none of it was processed."""
        return self.status == "failed" and self.problem == QUEUE_FULL


class BatchProvider:
    """Calls the files and batches API. Every method raises ProviderError, after the retries of other calls."""

    def __init__(self, settings: LLMSettings) -> None:
        # Limits a minute are about prompts, which these calls do not carry; files take longer than answers.
        timeout = max(settings.timeout, _TRANSFER_SECONDS)
        unlimited = {"timeout": timeout, "requests_per_minute": None, "tokens_per_minute": None}
        self._endpoint = Endpoint(settings.model_copy(update=unlimited))
        self._path = settings.batch.endpoint
        self.target = self._endpoint.target
        self.close = self._endpoint.close

    async def upload(self, path: Path) -> str:
        """Upload a request file and return the provider's id of it."""

        async def send(client: AsyncOpenAI) -> str:
            return _text((await client.files.create(file=path, purpose="batch")).id)

        return self._required(await self._call(send), "Batch API (HTTP 404); set llm.mode to realtime")

    async def create(self, name: str, file_id: str, *, attempted: bool) -> Report:
        """Create the batch of an uploaded file, and label it with our name.

        When the call was made before (`attempted`, or a try whose outcome is unknown), a batch of this name is looked
        for first, so that none is created twice.
        """

        async def send(client: AsyncOpenAI) -> Report:
            nonlocal attempted
            if attempted and (found := await _find(client, name)):
                return found
            attempted = True
            try:
                batch = await client.batches.create(
                    input_file_id=file_id,
                    endpoint=self._path,  # type: ignore[arg-type]  # some providers have names of their own
                    completion_window="24h",
                    metadata={_NAME: name},
                )
            except openai.APIStatusError as error:
                if error.code != QUEUE_FULL:
                    raise
                return Report(None, "failed", problem=QUEUE_FULL)
            return _report(batch)

        return self._required(await self._call(send), "Batch API (HTTP 404); set llm.mode to realtime")

    async def find(self, name: str) -> Report | None:
        """Return the report of the batch that was created under our name, if there is one."""
        return await self._call(lambda client: _find(client, name))

    async def report(self, batch_id: str) -> Report:
        """Return the report of a batch."""

        async def send(client: AsyncOpenAI) -> Report:
            return _report(await client.batches.retrieve(batch_id))

        what = f"batch {batch_id}; check that OPENAI_API_KEY is of the project that submitted it, or give it up with"
        return self._required(await self._call(send), f"{what} `lightrag-dagster batch cancel`")

    async def download(self, file_id: str, path: Path) -> bool:
        """Write a result file to `path`; return False when the provider no longer has it."""

        async def send(client: AsyncOpenAI) -> bool:
            try:
                async with client.files.with_streaming_response.content(file_id) as response:
                    await response.stream_to_file(path)
            except httpx2.TransportError as error:
                # The SDK translates errors before the body, and not those within it.
                raise openai.APIConnectionError(request=error.request) from error
            if next(read_results(path, self.target), None) is None:
                raise unusable(self.target, "a result file without a result")
            return True

        return bool(await self._call(send))

    async def cancel(self, batch_id: str) -> bool:
        """Ask the provider to end a batch, which one that has ended ignores; return False when it has no such batch."""

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

    def _required(self, answer: Answer | None, what: str) -> Answer:
        if answer is None:
            raise ProviderAccessError(f"{self.target.host} has no {what}")
        return answer


async def _find(client: AsyncOpenAI, name: str) -> Report | None:
    # Each page is retried by itself: all pages in one attempt might never succeed.
    async for batch in client.with_options(max_retries=_PAGE_RETRIES).batches.list(limit=_PAGE):
        if (batch.metadata or {}).get(_NAME) == name and not (report := _report(batch)).queue_full:
            return report
    return None


def _report(batch: SDKBatch) -> Report:
    """Return the report in the SDK's batch, which it does not validate; raises one of MALFORMED."""
    counts, errors = batch.request_counts, batch.errors.data if batch.errors else None
    finished = counts.completed + counts.failed if counts else 0
    problem = errors[0].code if errors else None
    if problem is not None and not problem.replace("_", "").isalpha():
        problem = None  # No plain words: it may hold a key or an id.
    files = (batch.output_file_id, batch.error_file_id)
    return Report(_text(batch.id), _text(batch.status), finished, *files, problem)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
