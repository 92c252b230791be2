"""What follows from questions whose answers are not known, from a table of answers; `test_plan.py` has whole plans."""

from dataclasses import fields

import numpy as np
import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, Picture, question_tokens
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.estimates import CallRatios, Estimate, default_ratios, own_ratios
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.stages.prompts.requests import extraction_request
from lightrag_dagster.storage.duckdb import in_memory
from tests.storage.corpus import rows


def entry(purpose: str, calls: int, taken: int, given: int, usd: float) -> Entry:
    return Entry("", purpose, "", "m", calls, 0, taken, 0, given, usd)


EXTRACTED = entry("extract", 2, 1000, 500, 1.0)
SUMMARISED, EMBEDDED = entry("summarise", 2, 9, 100, 0.5), entry("embed", 1, 250, 0, 0.1)


def ratios(
    *bought: Entry, questions: int = 50, today: Recipes | None = None, summarisers: tuple[str, ...] = ()
) -> CallRatios | None:
    """Return the ratios of a home with two answered chunks, of which the second was asked about twice, and a third."""
    chunks = [{"chunk_id": name, "doc_id": at, "tokens": 4} for at in "xy" for name in "ab"]
    answers = [
        {
            "chunk_id": name,
            "status": "ok",
            "model": f"openai/{model}?temperature=0.0&max_output_tokens=9",
            "rounds": rounds,
            "input_tokens": 500 * rounds,
            "output_tokens": 100 + 100 * rounds,
        }
        for name, rounds, model in (("a", 1, "gpt-4o"), ("b", 2, "gpt-6-luna"))
    ]
    answers += [
        {"chunk_id": "b", "status": "failed", "rounds": 9},
        {"chunk_id": "c", "status": "ok", "input_tokens": 9},
    ]
    with in_memory() as connection:
        # Without the columns of texts, so that none can be read.
        connection.register("chunks", rows(CHUNKS, chunks).drop_columns("content"))
        connection.register("extractions", rows(EXTRACTIONS, answers).drop_columns("responses"))
        totals = {one.purpose: one for one in bought}
        return own_ratios(connection, totals, today or priced(), questions, summarisers=summarisers)


def priced(model: str = "m") -> Recipes:
    prices = {model: {"input": 1000.0, "output": 2000.0}}
    return Recipes.of(load_settings(llm={"provider": "openai", "model": model, "prices": prices}))


@pytest.mark.parametrize(
    ("model", "calls", "reasoned"), [("gpt-6-luna", 2, 1), ("gpt-4o", 1, 1), ("gpt-6-sol", 1.5, 2), ("m", 1.5, 1)]
)
def test_a_past_of_other_models_tells_nothing_of_the_reasoning(model: str, calls: float, reasoned: float) -> None:
    """The price of a backfill with a model that reasons was that of one that does not."""
    today = priced(model)
    by = (chat_identity(today.settings.llm),) if reasoned == 1 else ("another",)
    found = ratios(EXTRACTED, SUMMARISED, today=today, summarisers=by)
    assert found is not None
    assert (found.calls.expected, found.reasoned.expected) == (calls, reasoned)
    assert found.summary_reasoned.expected == reasoned


def estimates(of: CallRatios) -> dict[str, Estimate]:
    return {one.name: value for one in fields(of) if isinstance(value := getattr(of, one.name), Estimate)}


def test_a_question_is_billed_for_its_texts_pictures_messages_and_its_answers_beginning() -> None:
    shown = (Picture("digest", "data:", 100), Picture("another", "data:", 50))
    messages = (Message("system", "one"), Message("user", "one two", shown), Message("assistant", "one two three"))
    request = ChatRequest("extract", messages)
    assert question_tokens(request, lambda texts: [len(text.split()) for text in texts]) == 6 + 150 + 3 * 4 + 3


def test_every_range_has_its_expected_value_in_it() -> None:
    for found in (default_ratios(Recipes.of(load_settings()), 10, 5000), ratios(EXTRACTED, SUMMARISED, EMBEDDED)):
        assert found is not None
        assert len(estimates(found)) == 11
        known = {"cached", "written"} if found.known else {"summary"}
        known |= {"reasoned", "summary_reasoned"}
        for name, one in estimates(found).items():
            assert 0 <= one.low <= one.expected <= one.high, name
            assert (one.low == one.high) == (name in known), name


def test_ratios_of_a_past_are_those_of_its_totals() -> None:
    found = ratios(EXTRACTED, SUMMARISED, EMBEDDED)
    assert found is not None
    assert found.calls.expected == 1.5
    assert found.input.expected == pytest.approx(3 * found.output.expected)
    assert found.summaries == pytest.approx((0.25, 0.175, 0.35))  # of two dollars at today's price
    assert found.summary.expected == pytest.approx(0.0045 + 0.1)
    assert found.embedded == pytest.approx((0.5, 0.35, 0.7))


def test_a_first_question_of_the_past_has_the_tokens_that_a_plan_would_count() -> None:
    request = extraction_request(priced().prompts, "A weir in Bergen", None)
    found = ratios(EXTRACTED)
    assert found is not None
    question = question_tokens(request, load_tokenizer("o200k_base").counts)
    assert found.input.expected == pytest.approx(1500 / (2 * question), rel=0.01)


def test_the_range_holds_8_of_10_sums_and_narrows_with_their_number() -> None:
    one, many = ratios(EXTRACTED, questions=1), ratios(EXTRACTED, questions=400)
    assert one is not None
    assert many is not None
    assert many.calls == pytest.approx((1.5, 1.468, 1.532), abs=0.001)
    drawn = np.random.default_rng(0).integers(1, 3, (2000, 400)).mean(axis=1)
    assert np.mean((many.calls.low <= drawn) & (drawn <= many.calls.high)) == pytest.approx(0.8, abs=0.03)
    assert one.calls.high - one.calls.low == pytest.approx(20 * (many.calls.high - many.calls.low))


@pytest.mark.parametrize(("share", "expected"), [(0.5, 0.5), (1.0, 1.0), (2.0, 1.0)])
def test_no_summary_is_expected_to_be_longer_than_its_limit(share: float, expected: float) -> None:
    limit = load_settings().merging.summary_max_tokens
    found = ratios(EXTRACTED, entry("summarise", 2, 9, round(2 * share * limit), 0.5))
    assert found is not None
    assert found.summary_length.expected == pytest.approx(expected)


def test_without_answers_there_is_no_past() -> None:
    assert ratios() is None
    with in_memory() as connection:
        connection.register("chunks", CHUNKS.empty_table())
        connection.register("extractions", EXTRACTIONS.empty_table())
        assert own_ratios(connection, {"extract": EXTRACTED}, priced(), 1) is None
