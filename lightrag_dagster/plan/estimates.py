"""Calls and tokens that follow from questions whose answers are not known yet.

A home that has extracted before is asked for its own ratios. Without a past, ratios of real extractions are taken: the
593 passages of MuSiQue with the entities and triples that a model found in them, written as rows in the format of our
prompts and counted with o200k_base (a question has 1,450 tokens on average, 1,342 of them instructions).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from lightrag_dagster.core.protocols import ChatRequest, question_tokens
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.models.identities import reasoning_effort
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.facts.questions import facts_request
from lightrag_dagster.stages.prompts.requests import extraction_request

CACHED_FROM = 1024
"""Tokens of the shortest prefix that OpenAI and most others cache."""

# Standard deviations between a mean and the ends of the range in which 8 of 10 cases lie.
DEVIATIONS = 1.2816


class Estimate(NamedTuple):
    """A number that is not known exactly: the expected value, and the range in which 8 of 10 cases lie."""

    expected: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Estimate":
        """Return a number that is known."""
        return cls(value, value, value)

    @classmethod
    def total(cls, values: "Iterable[Estimate]") -> "Estimate":
        """Return the sum of many."""
        return cls(*map(sum, zip((0.0, 0.0, 0.0), *values, strict=True)))

    def plus(self, other: "Estimate") -> "Estimate":
        """Return the sum; the ends of the range are added up."""
        return Estimate.total((self, other))

    def times(self, factor: "float | Estimate") -> "Estimate":
        """Return the product; the ends of the range are multiplied."""
        other = factor if isinstance(factor, Estimate) else Estimate.exactly(factor)
        return Estimate(self.expected * other.expected, self.low * other.low, self.high * other.high)


NOTHING = Estimate.exactly(0)
_ONE = Estimate.exactly(1)

# Tokens of the first answer for a token of the question: total, 10% and 90% quantile of the passages above.
_FIRST_ANSWER = Estimate(0.53, 0.29, 0.78)
# The same of a pass, which records fewer things. Not measured.
_FACTS = Estimate(0.25, 0.03, 0.78)
# Tokens of an answer to a gleaning question for a token of the first answer. Not measured: the data has one round.
_GLEANED = Estimate(0.4, 0.0, 1.0)
# Tokens that are embedded for entities and relations, for a token of all answers: measured on the same rows, merged.
# The range is not measured.
_EMBEDDED = Estimate(0.5, 0.3, 0.8)
# US dollars of summaries for a dollar of extraction. The passages above need 16 summaries in 593 calls; a corpus that
# names the same entities more often needs more.
_SUMMARIES = Estimate(0.02, 0.0, 0.3)
# Length of a summary as a share of merging.summary_max_tokens. Not measured.
_SUMMARY_LENGTH = Estimate(0.4, 0.1, 1.0)
# Of what could be read from the provider's cache, the share that is. Not measured.
_FOUND = Estimate(0.8, 0.0, 1.0)
# Tokens put out for a token of the answer, by effort of reasoning; any other is taken for the highest. Not measured.
_REASONED = {
    "none": Estimate.exactly(1),
    "minimal": Estimate(1.1, 1, 1.5),
    "low": Estimate(1.3, 1, 2),
    "medium": Estimate(2, 1.2, 4),
    "high": Estimate(4, 2, 9),
}
# Parameters in the name of a model that say nothing of how long its answers are.
_LIMITS = "[?&](temperature|max_output_tokens)=[^&]*"


@dataclass(frozen=True, kw_only=True)
class CallRatios:
    """Ratios of later calls and tokens to first questions."""

    known: bool = False  # they are this home's own
    calls: Estimate  # of a question
    input: Estimate  # tokens of all rounds, for one of the question
    output: Estimate  # tokens of all rounds, for one of the question
    summaries: Estimate = _SUMMARIES  # US dollars, for one of extraction
    embedded: Estimate  # tokens, for one of answers
    summary_length: Estimate = _SUMMARY_LENGTH  # as a share of its limit
    cached: Estimate  # input tokens that the provider has in its cache, for one of input
    written: Estimate  # input tokens that it writes there, for one of input
    reasoned: Estimate = _ONE  # tokens put out, for one of `output`; if that is of today's model, it has them all
    summary_reasoned: Estimate = _ONE  # the same for one of a summary
    summary: Estimate = NOTHING  # US dollars of one call


def default_ratios(recipes: Recipes, questions: int, tokens: int, reading: Reading = EXTRACTION) -> CallRatios:
    """Return the ratios for a home without a past, given the number of first questions and of their tokens."""
    counts = load_tokenizer(recipes.settings.chunking.encoding).counts
    gleaning = 0 if reading.of_pass else recipes.settings.extraction.gleaning
    share = questions / max(1, tokens)
    follow_up = sum(counts([recipes.prompts.render("gleaning_user")])) * share
    inputs = Estimate.exactly(1)
    outputs = _FACTS if reading.of_pass else _FIRST_ANSWER
    answer = outputs.times(_GLEANED)
    for _ in range(gleaning):
        # Each round asks the first question again, then shows all answers so far.
        inputs = inputs.plus(Estimate.exactly(1 + follow_up)).plus(outputs)
        outputs = outputs.plus(answer)
    text = max(0.0, 1 - instruction_tokens(recipes, reading) * share)
    embedded = _EMBEDDED.plus(Estimate.exactly(text / outputs.expected))
    calls = Estimate(1 + gleaning, 1, 1 + gleaning)
    llm = recipes.settings.llm.of("extract")
    # Every question begins with the same instructions, and each round with the question; of this a model that asks
    # money for it writes what it has not found, and the passage, if rounds follow.
    system = system_tokens(recipes, reading)
    begin = min(1.0, system * share) if system >= CACHED_FROM else 0.0
    rounds = min(gleaning, 1)
    cached = _FOUND.times((begin + gleaning) / inputs.expected)
    passage = rounds * (1 - begin) / inputs.expected
    written = Estimate(cached.high - cached.expected, 0, cached.high).plus(Estimate.exactly(passage))
    found = CallRatios(calls=calls, input=inputs, output=outputs, embedded=embedded, cached=cached, written=written)
    return replace(found, reasoned=reasoned(llm), summary_reasoned=reasoned(recipes.settings.llm.of("summarise")))


def reasoned(settings: LLMSettings) -> Estimate:
    """Return the tokens that a model puts out for a token of its answer; the others are its reasoning."""
    effort = None if settings.provider == "offline" else reasoning_effort(settings)
    return _REASONED.get(effort or "none", _REASONED["high"])


def own_ratios(
    connection: DuckDBPyConnection,
    bought: Mapping[str, Entry],
    recipes: Recipes,
    questions: int,
    reading: Reading = EXTRACTION,
    summarisers: Iterable[str] = (),
) -> CallRatios | None:
    """Return the ratios of earlier extractions of a home; None if there are none.

    Args:
        connection: A database with `chunks` and `extractions` of any sources; rows without tokens, or without their
            chunk, say nothing. No text is read. Those of a pass are under the same names.
        bought: Totals of the ledger by purpose.
        recipes: Today's prompts and settings.
        questions: The number of questions that are estimated: the more, the narrower the range.
        reading: The extraction, or a pass.
        summarisers: The models that made summaries.
    """
    llm = recipes.settings.llm.of("extract")
    summariser = recipes.settings.llm.of("summarise")
    known = {"instructions": instruction_tokens(recipes, reading), "model": chat_identity(llm), "limits": _LIMITS}
    found = connection.execute(read_sql(__package__, "sql/ratios"), known).fetchall()[0]
    extracted = bought.get(reading.purpose)
    call, call_off, taken, taken_off, given, given_off, of_today = found
    if call is None or not extracted or not extracted.output_tokens:
        return None
    chance = DEVIATIONS / min(max(questions, 1), 1000) ** 0.5
    summaries, embedded = bought.get("summarise"), bought.get("embed")
    length, summary = _of_a_summary(summaries, summariser)
    read, written = extracted.cached_input_tokens, extracted.cache_write_tokens
    # At the price in real time, since some of it may have been bought by batch.
    cost = price_of(llm).of(extracted.input_tokens, extracted.output_tokens, read, written)
    return CallRatios(
        known=True,
        calls=_around(call, chance * call_off),
        input=_around(taken, chance * taken_off + taken / 1000),  # few rows tell little of the spread
        output=_around(given, chance * given_off),
        summaries=near(summaries.cost_usd / cost if summaries and cost else 0.0),
        embedded=near(embedded.input_tokens / extracted.output_tokens) if embedded else _EMBEDDED,  # none was paid yet
        summary_length=near(min(1.0, length / recipes.settings.merging.summary_max_tokens))
        if length
        else _SUMMARY_LENGTH,
        cached=near(read / max(1, extracted.input_tokens), 1.0),
        written=near(written / max(1, extracted.input_tokens), 1.0),
        reasoned=_ONE if of_today else reasoned(llm),
        summary_reasoned=_ONE if chat_identity(summariser) in summarisers else reasoned(summariser),
        summary=near(summary),
    )


def _of_a_summary(bought: Entry | None, model: LLMSettings) -> tuple[float, float]:
    """Return the output tokens and US dollars of a summary; 0 if none was bought."""
    if not bought or not bought.calls:
        return 0.0, 0.0
    length = bought.output_tokens / bought.calls
    return length, price_of(model).of(bought.input_tokens / bought.calls, length)


def instruction_tokens(recipes: Recipes, reading: Reading = EXTRACTION) -> int:
    """Return the tokens of a question about an empty text."""
    return question_tokens(_empty_question(recipes, reading), load_tokenizer(recipes.settings.chunking.encoding).counts)


def system_tokens(recipes: Recipes, reading: Reading = EXTRACTION) -> int:
    """Return the tokens with which all questions about chunks begin."""
    return load_tokenizer(recipes.settings.chunking.encoding).count(
        _empty_question(recipes, reading).messages[0].content
    )


def _empty_question(recipes: Recipes, reading: Reading) -> ChatRequest:
    if reading.of_pass:
        return facts_request(recipes.prompts, reading.of_pass, "", None, None, by_schema=False)
    return extraction_request(
        recipes.prompts,
        "",
        None,
        answer_format=recipes.settings.extraction.answer_format,
        profile=recipes.settings.extraction.profile,
    )


def _around(value: float, distance: float) -> Estimate:
    return Estimate(value, max(0.0, value - distance), value + distance)


def near(value: float, most: float = inf) -> Estimate:
    """Return a ratio of totals, of which no rows are known, with a wide range."""
    return Estimate(value, value * 0.7, min(most, value * 1.4))
