"""The extraction driver: asks a language model about every distinct chunk of a source."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.identity import digest, extraction_key
from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, TransientProviderError
from lightrag_dagster.readers import language_name
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.stages.extraction.parsing import Records, merge_rounds, parse_response
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import extraction_request, gleaning_request

MAX_GLEANING_TOKENS = 20_480
"""Input of a further round, which is skipped when it would be longer; as in LightRAG. Tokens."""

_ROWS_PER_BATCH = 10_000

Failure = PermanentProviderError | TransientProviderError
"""Errors that fail only one chunk."""


def extraction_recipe(prompts: Prompts, settings: ExtractionSettings, model_identity: str) -> str:
    """Return a hash of what shapes an extraction by a language model, beside chunk and revision."""
    rules = settings.model_dump(include={"answer_format", "gleaning"})
    rules |= {"language": prompts.language}
    rules |= {"document_language": True} if settings.document_language else {}
    return digest(prompts.digest("extraction"), rules, model_identity)


@dataclass(frozen=True)
class Extractor:
    """A language model, with the prompts and limits of its requests.

    `recipe` is the recipe of the rows. At most `max_concurrency` chunks are worked on at once. A response that was cut
    off is asked for again with each of `longer_outputs` (tokens), then kept as `truncated`. A model made of rules,
    `by_rules`, gets the language of a chunk's document as a code; another reads its name in the prompts.
    """

    model: ChatModel
    prompts: Prompts
    settings: ExtractionSettings
    recipe: str
    count_tokens: Callable[[str], int]
    max_concurrency: int = 1
    longer_outputs: Sequence[int] = ()
    by_rules: bool = False

    def prompts_in(self, language: str | None) -> Prompts:
        """Return the prompts for answers in a language, given by its code; for None those of the settings."""
        return self.prompts.in_language(language_name(language))

    def first_question(
        self, content: str, heading: str | None, context: str | None, language: str | None
    ) -> ChatRequest:
        """Return the first question about a chunk, given the code of the language in which it is to be answered."""
        prompts, answer_format = self.prompts_in(language), self.settings.answer_format
        request = extraction_request(prompts, content, heading, context, answer_format)
        return replace(request, language=language) if self.by_rules else request


async def extract(source: str, chunks: pa.Table, extractor: Extractor, *, known: int = 0) -> pa.Table:
    """Return EXTRACTIONS: one row for each distinct chunk of CHUNKS, sorted by `chunk_id`.

    The chunks are asked about in canonical order (path, chunk index), each going through its rounds by itself. A chunk
    that the model cannot answer becomes a row with status `failed`; the response store holds no failures. A round that
    fails after the first leaves the rounds before it as they are, and says so in `error`.

    Args:
        source: The source of the chunks.
        chunks: Rows of CHUNKS; a chunk may have several positions. A further column `language` has the code of the
            language in which the answer is to be written, empty if that is unknown; null is that of the prompts.
        extractor: The model, with its prompts and limits.
        known: Further chunks of the source that need no question; they only count in the progress.

    Raises:
        ProviderAccessError: no request can succeed; the responses that arrived are in the response store.
        StoreError: the response store refuses.
    """
    rows_by_chunk = _distinct(chunks)
    contents, headings, contexts = chunks["content"], chunks["heading"], chunks["context"]
    languages = chunks["language"] if "language" in chunks.column_names else None
    rows, total = _Rows(), known + len(rows_by_chunk)
    queue = iter(rows_by_chunk.items())

    async def work() -> None:
        for chunk_id, row in queue:
            language = languages[row].as_py() if languages else None
            conversation = _Conversation(extractor, language)
            failure = await conversation.run(*(column[row].as_py() for column in (contents, headings, contexts)))
            key = extraction_key(chunk_id, extractor.recipe, language)
            labels = {
                "source": source,
                "chunk_id": chunk_id,
                "extraction_key": key,
                "model": extractor.model.identity,
                "recipe": extractor.recipe,
            }
            rows.add(labels | conversation.outcome(failure))
            progress.report("extractions", known + rows.count, total)
            # Stored responses never suspend: let other tasks and a cancellation through.
            await asyncio.sleep(0)

    progress.report("extractions", known, total)
    await gather_or_cancel(work() for _ in range(min(extractor.max_concurrency, len(rows_by_chunk))))
    return pa.concat_tables([EXTRACTIONS.empty_table(), *rows.tables()]).sort_by("chunk_id")


def _distinct(chunks: pa.Table) -> dict[str, int]:
    """Return each distinct chunk and the row of its first position, in canonical order."""
    order = pc.sort_indices(chunks, sort_keys=[("path", "ascending"), ("chunk_index", "ascending")])
    rows: dict[str, int] = {}
    for chunk_id, row in zip(chunks["chunk_id"].take(order).to_pylist(), order.to_pylist(), strict=True):
        rows.setdefault(chunk_id, row)
    return rows


@dataclass
class _Conversation:
    """All rounds about one chunk. `bought` are all answers, `rounds` those that count: one per round.

    `language` is the code of the language of the chunk's document, if answers follow it.
    """

    extractor: Extractor
    language: str | None
    rounds: list[ChatResponse] = field(default_factory=list)
    bought: list[ChatResponse] = field(default_factory=list)
    answered: bool = False

    async def run(self, content: str, heading: str | None, context: str | None) -> Failure | None:
        """Run the rounds; return the reason of a failure, or None."""
        try:
            await self._ask_all(self.extractor.first_question(content, heading, context, self.language))
        except (PermanentProviderError, TransientProviderError) as failure:
            return failure
        return None

    def outcome(self, failure: Failure | None) -> dict[str, object]:
        """Return the columns of EXTRACTIONS about the outcome."""
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
        if not found[0].usable:
            raise PermanentProviderError(self._unusable(found[0]))
        self.answered = True
        for number in range(self.extractor.settings.gleaning):
            request = gleaning_request(request, self.rounds[-1].text, self.extractor.prompts_in(self.language))
            if (number > 0 and _last_adds_nothing(found)) or not self._fits(request):
                break
            found.append(await self._ask(request))

    async def _ask(self, request: ChatRequest) -> Records:
        """Ask one round's question; ask again if the answer has no usable record and does not state that there is none.

        Only the completion marker states that; rows that were all rejected do not.
        """
        for attempt in range(2):
            answer = await self._whole(replace(request, attempt=attempt))
            records = parse_response(answer.text, truncated=answer.finish_reason == "length")
            if records.usable:
                break
        self.rounds.append(answer)
        return records

    async def _whole(self, request: ChatRequest) -> ChatResponse:
        """Answer a request; while the answer is cut off, ask again with more room, and keep the last answer."""
        limits = [None, *self.extractor.longer_outputs]
        answer: ChatResponse | None = None
        for limit in limits:
            try:
                answer = await self.extractor.model.complete(replace(request, max_output_tokens=limit))
            except PermanentProviderError as error:
                if isinstance(error, OutputLimitError) and limit != limits[-1]:
                    continue
                if answer is None:
                    raise
                break  # a model refuses a limit above its own; keep its answer below that
            self.bought.append(answer)
            if answer.finish_reason != "length":
                break
        assert answer is not None  # otherwise the last limit has raised
        return answer

    def _fits(self, request: ChatRequest) -> bool:
        texts = [message.content for message in request.messages]
        # A token is at least one byte, so that most conversations need no counting.
        if sum(len(text.encode()) for text in texts) <= MAX_GLEANING_TOKENS:
            return True
        return sum(self.extractor.count_tokens(text) for text in texts) <= MAX_GLEANING_TOKENS

    def _unusable(self, records: Records) -> str:
        what = f"the answer of {self.extractor.model.identity} holds neither a record nor the completion marker"
        if records.rejected:
            reason = records.rejected[0]
            what = f"the answer of {self.extractor.model.identity} holds no row that can be used ({reason})"
        if self.rounds[-1].finish_reason == "length":
            return f"{what} within the output limit; raise LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"
        return f"{what}, twice; change the prompts or the model"


def _kind(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return "transient" if isinstance(failure, TransientProviderError) else "permanent"


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
