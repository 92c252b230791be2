"""The extraction driver: asks a language model about every distinct chunk of a source."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.identity import digest, extraction_key
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, TransientProviderError
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.stages.extraction.parsing import Records, merge_rounds, parse_response
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import extraction_request, gleaning_request

_ROWS_PER_BATCH = 10_000

Failure = PermanentProviderError | TransientProviderError
"""What costs a chunk its extraction, and no other."""


def extraction_fingerprint(prompts: Prompts, settings: ExtractionSettings, model_identity: str) -> str:
    """Return a hash of all that shapes an extraction besides the chunk."""
    return digest(prompts.fingerprint("extraction"), settings.model_dump(), model_identity)


async def extract(
    source: str,
    chunks: pa.Table,
    model: ChatModel,
    prompts: Prompts,
    settings: ExtractionSettings,
    fingerprint: str,
    max_concurrency: int,
    previous: pa.Table | None = None,
    *,
    count_tokens: Callable[[str], int],
    longer_outputs: Sequence[int] = (),
    retry_failed: bool = False,
    keep_drifted: bool = False,
) -> pa.Table:
    """Return EXTRACTIONS: one row for each distinct chunk of CHUNKS, sorted by `chunk_id`.

    Rows of `previous` with the same extraction key are kept without asking, but those that failed for a passing
    reason, and with `retry_failed` all that failed; with `keep_drifted` those with other keys too. The other chunks are
    asked about in canonical order (path, chunk index), `max_concurrency` at a time, each going through its rounds by
    itself. A chunk that the model cannot answer becomes a row with status `failed`; the response store holds no
    failures. A round that fails after the first leaves the rounds before it as they are, and says so in `error`.

    An answer that was cut off is asked for again with each of `longer_outputs` (tokens), then kept as `truncated`.

    Raises:
        ProviderAccessError: no request can succeed; the answers that arrived are in the response store.
        StoreError: the response store refuses.
    """
    rows_by_chunk = _distinct(chunks)
    kept = _reusable(previous, rows_by_chunk, fingerprint, retry_failed=retry_failed, keep_drifted=keep_drifted)
    answered = set(kept["chunk_id"].to_pylist())
    pending = [(chunk_id, row) for chunk_id, row in rows_by_chunk.items() if chunk_id not in answered]
    contents, headings = chunks["content"], chunks["heading"]
    rows = _Rows()
    queue = iter(pending)

    async def work() -> None:
        for chunk_id, row in queue:
            conversation = _Conversation(model, prompts, settings, count_tokens, longer_outputs)
            failure = await conversation.run(contents[row].as_py(), headings[row].as_py())
            key = extraction_key(chunk_id, fingerprint)
            labels = {"source": source, "chunk_id": chunk_id, "extraction_key": key, "model": model.identity}
            rows.add(labels | conversation.outcome(failure))
            progress.report("extractions", kept.num_rows + rows.count, len(rows_by_chunk))
            # Stored answers never suspend: let other tasks and a cancellation through.
            await asyncio.sleep(0)

    progress.report("extractions", kept.num_rows, len(rows_by_chunk))
    await gather_or_cancel(work() for _ in range(min(max_concurrency, len(pending))))
    return pa.concat_tables([kept, *rows.tables()]).sort_by("chunk_id")


def _distinct(chunks: pa.Table) -> dict[str, int]:
    """Return each distinct chunk and the row of its first position, in canonical order."""
    order = pc.sort_indices(chunks, sort_keys=[("path", "ascending"), ("chunk_index", "ascending")])
    rows: dict[str, int] = {}
    for chunk_id, row in zip(chunks["chunk_id"].take(order).to_pylist(), order.to_pylist(), strict=True):
        rows.setdefault(chunk_id, row)
    return rows


def needs_retry(extractions: pa.Table, *, retry_failed: bool) -> bool:
    """Say whether a table with EXTRACTIONS's column `error_kind` has rows that the next run asks about again."""
    kinds = pc.drop_null(extractions["error_kind"])
    return bool(len(kinds) if retry_failed else pc.any(pc.equal(kinds, "transient")).as_py())


def made_otherwise(extractions: pa.Table, fingerprint: str) -> int:
    """Count the rows (EXTRACTIONS's chunk_id and extraction_key) that were not made as `fingerprint` says."""
    rows = zip(extractions["chunk_id"].to_pylist(), extractions["extraction_key"].to_pylist(), strict=True)
    return sum(extraction_key(chunk_id, fingerprint) != key for chunk_id, key in rows)


def _reusable(
    previous: pa.Table | None, chunk_ids: Iterable[str], fingerprint: str, *, retry_failed: bool, keep_drifted: bool
) -> pa.Table:
    """Return the rows of `previous` that answer a wanted chunk, or never will; under the current key, or any."""
    if previous is None or previous.schema.names != EXTRACTIONS.names:
        return EXTRACTIONS.empty_table()
    if keep_drifted:
        current = pc.is_in(previous["chunk_id"], value_set=pa.array(chunk_ids, pa.string()))
    else:
        keys = pa.array([extraction_key(chunk_id, fingerprint) for chunk_id in chunk_ids], pa.string())
        current = pc.is_in(previous["extraction_key"], value_set=keys)
    asked_again = pa.array(["transient", "permanent"] if retry_failed else ["transient"])
    settled = pc.invert(pc.is_in(previous["error_kind"], value_set=asked_again))
    return previous.filter(pc.and_(current, settled)).cast(EXTRACTIONS)


@dataclass
class _Conversation:
    """All rounds about one chunk. `bought` are all answers, `rounds` those that count: one a round."""

    model: ChatModel
    prompts: Prompts
    settings: ExtractionSettings
    count_tokens: Callable[[str], int]
    longer_outputs: Sequence[int]
    rounds: list[ChatResponse] = field(default_factory=list)
    bought: list[ChatResponse] = field(default_factory=list)
    answered: bool = False

    async def run(self, content: str, heading: str | None) -> Failure | None:
        """Go through the rounds; return why they failed, or None."""
        try:
            settings = self.settings
            request = extraction_request(self.prompts, content, heading, settings.language, settings.answer_format)
            await self._ask_all(request)
        except (PermanentProviderError, TransientProviderError) as failure:
            return failure
        return None

    def outcome(self, failure: Failure | None) -> dict[str, object]:
        """Return the columns of EXTRACTIONS that say how it went."""
        cut = any(answer.finish_reason == "length" for answer in self.rounds)
        return {
            "responses": [answer.text for answer in self.rounds],
            "rounds": len(self.rounds),
            "status": "failed" if not self.answered else "truncated" if cut else "ok",
            "error": str(failure) if failure else None,
            "error_kind": _kind(failure),
            "finish_reason": self.rounds[-1].finish_reason if self.rounds else None,
            "input_tokens": sum(answer.input_tokens for answer in self.bought),
            "cached_input_tokens": sum(answer.cached_input_tokens for answer in self.bought),
            "output_tokens": sum(answer.output_tokens for answer in self.bought),
            "cost_usd": sum(answer.cost_usd for answer in self.bought),
        }

    async def _ask_all(self, request: ChatRequest) -> None:
        found = [await self._ask(request)]
        if not _is_usable(found[0]):
            raise PermanentProviderError(self._unusable())
        self.answered = True
        for number in range(self.settings.gleaning):
            request = gleaning_request(request, self.rounds[-1].text, self.prompts, self.settings.language)
            if (number > 0 and _last_adds_nothing(found)) or not self._fits(request):
                break
            found.append(await self._ask(request))

    async def _ask(self, request: ChatRequest) -> Records:
        """Put one round's question, once more if the answer holds neither a record nor the completion marker."""
        for attempt in range(2):
            answer = await self._whole(replace(request, attempt=attempt))
            records = parse_response(answer.text, truncated=answer.finish_reason == "length")
            if _is_usable(records):
                break
        self.rounds.append(answer)
        return records

    async def _whole(self, request: ChatRequest) -> ChatResponse:
        """Answer a request; while the answer is cut off, ask again with more room, and keep what came last."""
        limits = [None, *self.longer_outputs]
        answer: ChatResponse | None = None
        for limit in limits:
            try:
                answer = await self.model.complete(replace(request, max_output_tokens=limit))
            except PermanentProviderError as error:
                if isinstance(error, OutputLimitError) and limit != limits[-1]:
                    continue
                if answer is None:
                    raise
                break  # a model refuses a limit above its own; what it gave below it stays
            self.bought.append(answer)
            if answer.finish_reason != "length":
                break
        assert answer is not None  # else the last limit has raised
        return answer

    def _fits(self, request: ChatRequest) -> bool:
        limit = self.settings.max_gleaning_tokens
        texts = [message.content for message in request.messages]
        # A token is at least one byte, so that most conversations need no counting.
        if limit == 0 or sum(len(text.encode()) for text in texts) <= limit:
            return True
        return sum(self.count_tokens(text) for text in texts) <= limit

    def _unusable(self) -> str:
        what = f"the answer of {self.model.identity} holds neither a record nor the completion marker"
        if self.rounds[-1].finish_reason == "length":
            return f"{what} within the output limit; raise LIGHTRAG_LLM__MOST_OUTPUT_TOKENS"
        return f"{what}, twice; change the prompts or the model"


def _kind(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return "transient" if isinstance(failure, TransientProviderError) else "permanent"


def _is_usable(records: Records) -> bool:
    return bool(records.entities or records.relations or records.complete)


def _last_adds_nothing(rounds: Sequence[Records]) -> bool:
    before, after = merge_rounds(rounds[:-1]), merge_rounds(rounds)
    return (before.entities, before.relations) == (after.entities, after.relations)


class _Rows:
    """Rows of EXTRACTIONS, turned into Arrow as they come in."""

    def __init__(self) -> None:
        self.count = 0
        self._open: list[dict[str, object]] = []
        self._closed: list[pa.Table] = []

    def add(self, row: dict[str, object]) -> None:
        self.count += 1
        self._open.append(row)
        if len(self._open) == _ROWS_PER_BATCH:
            self._close()

    def tables(self) -> list[pa.Table]:
        self._close()
        return self._closed

    def _close(self) -> None:
        self._closed.append(pa.Table.from_pylist(self._open, schema=EXTRACTIONS))
        self._open = []
