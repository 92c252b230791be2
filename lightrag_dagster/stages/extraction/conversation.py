"""The conversation with a model about one chunk: its rounds, and when asking on is useless."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from math import fsum
from typing import Any, Protocol

from lightrag_dagster.core.protocols import ChatModel, ChatRequest, ChatResponse
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, TransientProviderError
from lightrag_dagster.readers import language_name
from lightrag_dagster.settings import ExtractionSettings
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.loops import repeats_itself
from lightrag_dagster.stages.extraction.parsing import MOST_ROWS, Records, merge_rounds, parse_response
from lightrag_dagster.stages.extraction.rejections import BROKEN_OFF
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import extraction_request, gleaning_request

MAX_GLEANING_TOKENS = 20_480
"""Input of a further round, which is skipped when it would be longer; as in LightRAG. Tokens."""
_TOO_LONG = f"a further round would be longer than {MAX_GLEANING_TOKENS:,} tokens; lower chunking.size"

Failure = PermanentProviderError | TransientProviderError
"""Errors that fail only one chunk."""


class ReadAnswer(Protocol):
    """The rows of an answer: whether it is complete, whether it has what can be used, and why rows were rejected."""

    @property
    def complete(self) -> bool:
        """True if the answer says that it is whole."""

    @property
    def is_empty(self) -> bool:
        """True for an answer that says that there is nothing, which some models say too soon."""

    @property
    def usable(self) -> bool:
        """True if it need not be asked for again."""

    @property
    def rejected(self) -> tuple[str, ...]:
        """The reasons of rejected rows."""

    def adds_nothing_to(self, shorter: Any) -> bool:
        """Return True if another answer has some rows, and these are all of those that are here."""


@dataclass(frozen=True)
class Extractor:
    """A language model, with the prompts and limits of its requests.

    A response that was cut off, as JSON that breaks off is, is asked for again with each of `longer_outputs`, then kept
    as `truncated`; one that repeats itself, or that has no more rows for twice the tokens, is kept so at once, and no
    round follows it.
    """

    model: ChatModel
    prompts: Prompts
    settings: ExtractionSettings
    recipe: str  # of the rows
    count_tokens: Callable[[str], int]
    max_concurrency: int = 1  # chunks that are worked on at once
    longer_outputs: Sequence[int] = ()  # tokens
    by_rules: bool = False  # made of rules: it gets the code of a document's language, others its name in the prompts
    is_stored: Callable[[ChatRequest], bool] = lambda request: False  # an answer was bought before
    retries: bool = False  # one more is bought where none of those is of use
    is_new: Callable[[], bool] = lambda: False  # no usable answer of the recipe is known: the first decide on the rest

    @cached_property
    def echoes(self) -> Echoes | None:
        """Texts of the prompts that answers may repeat; rules read none."""
        return None if self.by_rules else Echoes.of(self.prompts)

    def prompts_in(self, language: str | None) -> Prompts:
        """Return the prompts for answers in a language, given by its code; for None those of the settings."""
        return self.prompts.in_language(language_name(language))

    def first_question(
        self, content: str, heading: str | None, context: str | None, language: str | None
    ) -> ChatRequest:
        """Return the first question about a chunk, given the code of the language in which it is to be answered."""
        prompts, settings = self.prompts_in(language), self.settings
        form, profile, gleans = settings.answer_format, settings.profile, settings.gleaning > 0
        request = extraction_request(prompts, content, heading, context, form, profile=profile, gleans=gleans)
        return replace(request, language=language) if self.by_rules else request

    def read(self, answer: str, passage: str, *, truncated: bool) -> ReadAnswer:
        """Return the records of an answer about a passage."""
        most = None if self.by_rules else MOST_ROWS
        return parse_response(answer, truncated=truncated, passage=passage, most_rows=most, echoes=self.echoes)


@dataclass
class Conversation:
    """All rounds about one chunk. `bought` are all answers, `rounds` those that count: one per round.

    `language` is the code of the language of the chunk's document, if answers follow it; `passage` is the chunk's text.
    `ended` says why asking on is useless, after an answer that repeats itself or does not grow.
    """

    extractor: Extractor
    language: str | None
    passage: str
    rounds: list[ChatResponse] = field(default_factory=list)
    bought: list[ChatResponse] = field(default_factory=list)
    answered: bool = False
    ended: str = ""
    cut: bool = False  # a round that counts

    async def run(self, heading: str | None, context: str | None) -> Failure | None:
        """Run the rounds; return the reason of a failure, or None."""
        try:
            await self._ask_all(self.extractor.first_question(self.passage, heading, context, self.language))
        except (PermanentProviderError, TransientProviderError) as failure:
            return failure
        return PermanentProviderError(f"{self._ended()}; its different rows are kept") if self.ended else None

    def outcome(self, failure: Failure | None) -> dict[str, object]:
        """Return the columns of EXTRACTIONS about the outcome."""
        return {
            "responses": [answer.text for answer in self.rounds],
            "rounds": len(self.rounds),
            "status": "failed" if not self.answered else "truncated" if self.ended or self.cut else "ok",
            "error": str(failure) if failure else None,
            "error_kind": failure and ("transient" if isinstance(failure, TransientProviderError) else "permanent"),
            "finish_reason": self.rounds[-1].finish_reason if self.rounds else None,
            "input_tokens": sum(answer.input_tokens for answer in self.bought),
            "cached_input_tokens": sum(answer.cached_input_tokens for answer in self.bought),
            "output_tokens": sum(answer.output_tokens for answer in self.bought),
            "cost_usd": fsum(answer.cost_usd for answer in self.bought),
        }

    async def _ask_all(self, request: ChatRequest) -> None:
        found = [await self._ask(request)]
        if not found[0].usable:
            raise PermanentProviderError(self._unusable(found[0]))
        self.answered = True
        # Some models say at first of a chunk full of names that nothing is there.
        empty = found[0].is_empty and len(self.bought) == 1 and any(map(str.isalpha, self.passage))
        for number in range(self.extractor.settings.gleaning or int(empty and not self.extractor.by_rules)):
            if self.ended:
                break
            request = gleaning_request(request, self.rounds[-1].text, self.extractor.prompts_in(self.language))
            if number > 0 and _last_adds_nothing(found):
                break
            if not self._fits(request):
                raise PermanentProviderError(_TOO_LONG)
            found.append(await self._ask(request))

    async def _ask(self, request: ChatRequest) -> ReadAnswer:
        """Ask one round's question; ask again if the answer has no usable record and does not state that there is none.

        Only the completion marker states that; rows that were all rejected do not. Stored answers are all tried.
        """
        for attempt in count():
            asked, self.ended = replace(request, attempt=attempt), ""
            passes_over = self.extractor.retries and self._is_stored(asked)
            answer, records = await self._whole(asked)
            once_more = passes_over or (attempt == 0 and not self.ended)
            if records.usable or not (once_more or self._is_stored(replace(request, attempt=attempt + 1))):
                break
        self.rounds.append(answer)
        self.cut |= _is_cut(answer, records)
        return records

    def _is_stored(self, request: ChatRequest) -> bool:
        """Say whether an answer to a request was bought before, with the usual room or with more."""
        asked = (replace(request, max_output_tokens=limit) for limit in (None, *self.extractor.longer_outputs))
        return any(map(self.extractor.is_stored, asked))

    async def _whole(self, request: ChatRequest) -> tuple[ChatResponse, ReadAnswer]:
        """Answer a request; while the answer is cut off, ask again with more room, and keep the last answer."""
        limits = [None, *self.extractor.longer_outputs]
        found: tuple[ChatResponse, ReadAnswer] | None = None
        for limit in limits:
            try:
                answer = await self.extractor.model.complete(replace(request, max_output_tokens=limit))
            except PermanentProviderError as error:
                if isinstance(error, OutputLimitError) and limit != limits[-1]:
                    continue
                if found is None:
                    raise
                break  # a model refuses a limit above its own; keep its answer below that
            self.bought.append(answer)
            before = found[1] if found else None
            found = answer, self.extractor.read(answer.text, self.passage, truncated=answer.finish_reason == "length")
            cut = _is_cut(*found)
            if not (self.extractor.by_rules or found[1].complete) and repeats_itself(answer.text):
                self.ended = "repeats itself"
            elif cut and before and found[1].adds_nothing_to(before):
                self.ended = "has no more rows for more tokens"
            if self.ended or not cut:
                break
        assert found is not None  # otherwise the last limit has raised
        return found

    def _ended(self) -> str:
        return f"the answer of {self.extractor.model.identity} {self.ended}"

    def _fits(self, request: ChatRequest) -> bool:
        texts = [message.content for message in request.messages]
        # A token is at least one byte, so that most conversations need no counting.
        if sum(len(text.encode()) for text in texts) <= MAX_GLEANING_TOKENS:
            return True
        return sum(self.extractor.count_tokens(text) for text in texts) <= MAX_GLEANING_TOKENS

    def _unusable(self, records: ReadAnswer) -> str:
        what = f"the answer of {self.extractor.model.identity} holds neither a record nor the completion marker"
        if records.rejected:
            reason = records.rejected[0]
            what = f"the answer of {self.extractor.model.identity} holds no row that can be used ({reason})"
        if self.ended:
            return f"{self._ended()} and holds no row that can be used; choose another model"
        if self.rounds[-1].finish_reason == "length":
            return f"{what} within the output limit; raise LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"
        return f"{what}, twice; change the prompts or the model"


def _is_cut(answer: ChatResponse, read: ReadAnswer) -> bool:
    """Say whether an answer was cut off; servers whose context is full, or whose stream broke, may give no reason."""
    return answer.finish_reason == "length" or BROKEN_OFF.reason in read.rejected


def _last_adds_nothing(rounds: Sequence[ReadAnswer]) -> bool:
    records = [one for one in rounds if isinstance(one, Records)]
    before, after = merge_rounds(records[:-1]), merge_rounds(records)
    return (before.entities, before.relations) == (after.entities, after.relations)
