"""What one question of the extraction leads to, from what this home has asked before, else from a range."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import Price
from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import extraction_request
from lightrag_dagster.settings import ExtractionSettings

CountTokens = Callable[[list[str]], list[int]]

# What OpenAI's chat format adds to the text: for each message its role and two marks, and the beginning of the answer.
_TOKENS_A_MESSAGE = 4
_TOKENS_A_REQUEST = 3

_SAMPLE = 200
_MARGIN = 0.15


def question_tokens(request: ChatRequest, count_tokens: CountTokens) -> int:
    """Return how many input tokens a request is billed for, in the tokenizer's own models. Tokens."""
    counted = count_tokens([message.content for message in request.messages])
    return sum(counted) + _TOKENS_A_MESSAGE * len(counted) + _TOKENS_A_REQUEST


class Range(NamedTuple):
    """A number that is not known exactly: at least and at most."""

    low: float
    high: float

    def plus(self, other: "Range") -> "Range":
        """Return the sum of both ends."""
        return Range(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> "Range":
        """Return both ends multiplied."""
        return Range(self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Past:
    """Ratios, each with its range.

    Of a new chunk: calls, and tokens embedded for it and for what is extracted from it. Of a token of the first
    question: tokens of input in all rounds, and of output. Of a dollar of extraction: dollars of summaries. `known` is
    whether they come from this home.
    """

    known: bool
    calls_a_chunk: Range
    input_a_question_token: Range
    output_a_question_token: Range
    summary_share: Range
    embedded_a_chunk: Range


def unknown_past(gleaning: int) -> Past:
    """Return what is said before a home has a past: each round asks the first question again, and a little more."""
    rounds = 1 + gleaning
    return Past(False, Range(1, rounds), Range(1, 2.5 * rounds), Range(0.02, 1.0), Range(0, 0.5), Range(100, 8000))


def past_of(
    chunks: pa.Table,
    extractions: pa.Table,
    ledger: Ledger,
    prompts: Prompts,
    settings: ExtractionSettings,
    count_tokens: CountTokens,
    price: Price,
) -> Past:
    """Return the ratios of what was extracted before, from a sample of it.

    Args:
        chunks: CHUNKS of any sources.
        extractions: EXTRACTIONS of the same; rows without tokens, or without their chunk, say nothing.
        ledger: the home's ledger.
        prompts: the prompts in force.
        settings: language and number of rounds.
        count_tokens: the tokenizer.
        price: of extraction in real time, since some of it may have been bought by batch.
    """
    asked = extractions.filter(
        pc.and_(
            pc.and_(pc.equal(extractions["status"], "ok"), pc.greater(extractions["input_tokens"], 0)),
            pc.is_in(extractions["chunk_id"], chunks["chunk_id"]),
        )
    )
    totals = ledger.by_purpose()
    bought = totals.get("extract")
    if not asked.num_rows or bought is None or not bought.calls:
        return unknown_past(settings.gleaning)
    every = pa.array(range(0, asked.num_rows, max(1, asked.num_rows // _SAMPLE)))
    sample = asked.select(["chunk_id", "rounds", "input_tokens", "output_tokens"]).take(every)
    held = chunks.filter(pc.is_in(chunks["chunk_id"], sample["chunk_id"]))
    texts = {row["chunk_id"]: row for row in held.select(["chunk_id", "content", "heading"]).to_pylist()}
    questions = sum(
        question_tokens(
            extraction_request(prompts, text["content"], text["heading"], settings.language, settings.answer_format),
            count_tokens,
        )
        for text in (texts[chunk_id] for chunk_id in sample["chunk_id"].to_pylist())
    )
    in_real_time = price.of(bought.input_tokens, bought.output_tokens, bought.cached_input_tokens)
    summaries = totals["summarise"].cost_usd if "summarise" in totals else 0.0
    embedded = totals["embed"].input_tokens if "embed" in totals else 0
    calls = pc.mean(sample["rounds"]).as_py()
    return Past(
        True,
        _about(calls),
        _about(pc.sum(sample["input_tokens"]).as_py() / questions),
        _about(pc.sum(sample["output_tokens"]).as_py() / questions),
        _about(summaries / in_real_time if in_real_time else 0.0),
        _about(embedded * calls / bought.calls),
    )


def _about(value: float) -> Range:
    return Range(value * (1 - _MARGIN), value * (1 + _MARGIN))
