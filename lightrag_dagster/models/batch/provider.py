"""The provider's files and batches: the few calls that are made of them."""

from pathlib import Path
from typing import NamedTuple

import httpx2
import openai
from openai import AsyncOpenAI
from openai.types import Batch as SDKBatch

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.batch.results import read_results
from lightrag_dagster.models.openai_chat import MALFORMED
from lightrag_dagster.models.openai_client import Endpoint
from lightrag_dagster.models.openai_errors import FailedCallError, Target, unusable
from lightrag_dagster.settings import LLMSettings

NO_ROOM = "token_limit_exceeded"
"""What OpenAI and Azure call it when more tokens would wait in their queue than they allow."""

_NAME = "lightrag_batch"
_FINAL = frozenset({"completed", "failed", "expired", "cancelled"})
_NO_SUCH_API = frozenset({404, 405, 501})
_TRANSFER_SECONDS = 600.0
_PAGE = 100
_PAGE_RETRIES = 5


class Report(NamedTuple):
    """What the provider says of a batch; `problem` is its word for why the batch failed."""

    batch_id: str | None
    status: str
    finished: int = 0
    output_file_id: str | None = None
    error_file_id: str | None = None
    problem: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in _FINAL


class BatchProvider:
    """Every method raises ProviderError; what is safe to repeat is tried again as other calls are."""

    def __init__(self, settings: LLMSettings) -> None:
        # These calls carry no prompts that the limits a minute are about, but files that take their time.
        timeout = max(settings.timeout, _TRANSFER_SECONDS)
        unlimited = {"timeout": timeout, "requests_per_minute": None, "tokens_per_minute": None}
        self._endpoint = Endpoint(settings.model_copy(update=unlimited))
        self._path = settings.batch.endpoint

    @property
    def target(self) -> Target:
        """Whom the calls go to."""
        return self._endpoint.target

    async def upload(self, path: Path) -> str:
        """Upload a file of requests and return the provider's id of it."""

        async def send(client: AsyncOpenAI) -> str:
            try:
                file = await client.files.create(file=path, purpose="batch")
            except openai.APIStatusError as error:
                if error.status_code not in _NO_SUCH_API:
                    raise
                message = f"{self.target.host} has no Batch API (HTTP {error.status_code}); set llm.mode to realtime"
                raise FailedCallError(ProviderAccessError(message), retry=False) from None
            if not isinstance(getattr(file, "id", None), str):
                raise unusable(self.target, "it does not name the uploaded file")
            return file.id

        return await self._endpoint.call(send, 0)

    async def create(self, name: str, file_id: str, *, attempted: bool) -> Report:
        """Create the batch of a file, unless the provider has one of this name.

        `attempted` is whether it was asked for before; then, and after each attempt whose outcome nobody knows, the
        provider's batches are looked through first. One that it has no room for is reported as failed.
        """
        tried = attempted

        async def send(client: AsyncOpenAI) -> Report:
            nonlocal tried
            if tried and (found := await self._find(client, name)):
                return found
            tried = True
            try:
                batch = await client.batches.create(
                    input_file_id=file_id,
                    endpoint=self._path,  # type: ignore[arg-type]  # some providers have names of their own
                    completion_window="24h",
                    metadata={_NAME: name},
                )
            except openai.APIStatusError as error:
                if error.code != NO_ROOM:
                    raise
                return Report(None, "failed", problem=NO_ROOM)
            return self._report(batch)

        return await self._endpoint.call(send, 0)

    async def find(self, name: str) -> Report | None:
        """Return what the provider says of the batch that was created under a name of ours."""
        return await self._endpoint.call(lambda client: self._find(client, name), 0)

    async def report(self, batch_id: str) -> Report:
        """Return how far a batch is."""

        async def send(client: AsyncOpenAI) -> Report:
            try:
                return self._report(await client.batches.retrieve(batch_id))
            except openai.NotFoundError:
                message = (
                    f"{self.target.host} has no batch {batch_id}; check that OPENAI_API_KEY is of the project that "
                    "submitted it, or give it up with `lightrag-dagster batch cancel`"
                )
                raise FailedCallError(ProviderAccessError(message), retry=False) from None

        return await self._endpoint.call(send, 0)

    async def download(self, file_id: str, path: Path) -> bool:
        """Write a file of results to `path`, whatever its size; say whether the provider has it still."""

        async def send(client: AsyncOpenAI) -> bool:
            try:
                async with client.files.with_streaming_response.content(file_id) as response:
                    await response.stream_to_file(path)
            except openai.NotFoundError:
                return False
            except httpx2.TransportError as error:
                # The SDK translates what happens before the body, and not what happens within it.
                raise openai.APIConnectionError(request=error.request) from error
            if next(read_results(path, self.target), None) is None:
                raise unusable(self.target, "a file of results that holds none")
            return True

        return await self._endpoint.call(send, 0)

    async def cancel(self, batch_id: str) -> bool:
        """Ask to end a batch; say whether the provider has it at all. One that has ended stays as it is."""

        async def send(client: AsyncOpenAI) -> bool:
            try:
                await client.batches.cancel(batch_id)
            except openai.NotFoundError:
                return False
            except (openai.ConflictError, openai.BadRequestError):
                pass
            return True

        return await self._endpoint.call(send, 0)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _find(self, client: AsyncOpenAI, name: str) -> Report | None:
        try:
            # Each page is tried again by itself: all of them together might never go well at a stretch.
            async for batch in client.with_options(max_retries=_PAGE_RETRIES).batches.list(limit=_PAGE):
                if (batch.metadata or {}).get(_NAME) == name:
                    return self._report(batch)
        except MALFORMED:
            raise unusable(self.target, "it is not shaped like a list of batches") from None
        return None

    def _report(self, batch: SDKBatch) -> Report:
        try:
            counts, errors = batch.request_counts, batch.errors.data if batch.errors else None
            report = Report(
                batch.id,
                batch.status,
                counts.completed + counts.failed if counts else 0,
                batch.output_file_id,
                batch.error_file_id,
                _plain(errors[0].code) if errors else None,
            )
        except MALFORMED:
            raise unusable(self.target, "it is not shaped like a batch") from None
        if not (isinstance(report.batch_id, str) and isinstance(report.status, str)):
            raise unusable(self.target, "it is not shaped like a batch")
        return report


def _plain(code: str | None) -> str | None:
    """Return an error code if it is plain words, which no key or id is."""
    return code if code and len(code) < 64 and code.replace("_", "").isalpha() else None
