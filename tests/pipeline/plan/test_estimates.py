"""What follows from questions whose answers are not known, from a table of answers; `test_plan.py` has whole plans."""

from dataclasses import fields

import pyarrow as pa
import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, Picture
from lightrag_dagster.pipeline.plan.estimates import CallRatios, Estimate, default_ratios, own_ratios, question_tokens
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Entry
from tests.storage.corpus import rows


def entry(purpose: str, calls: int, taken: int, given: int, usd: float) -> Entry:
    return Entry("", purpose, "", "m", calls, 0, taken, 0, given, usd)


EXTRACTED = entry("extract", 2, 1000, 500, 1.0)
SUMMARISED, EMBEDDED = entry("summarise", 2, 9, 100, 0.5), entry("embed", 1, 250, 0, 0.1)


def ratios(*bought: Entry) -> CallRatios:
    """Return the ratios of a home with two answered chunks, of which the second was asked about twice."""
    recipes = Recipes.of(
        load_settings(llm={"provider": "openai", "model": "m", "prices": {"m": {"input": 1000.0, "output": 2000.0}}})
    )
    chunks = rows(CHUNKS, [{"chunk_id": name, "content": "A weir."} for name in "ab"])
    answers = [
        {
            "chunk_id": name,
            "status": "ok",
            "rounds": rounds,
            "input_tokens": 500 * rounds,
            "output_tokens": 100 + 100 * rounds,
        }
        for name, rounds in (("a", 1), ("b", 2))
    ]
    found = own_ratios(chunks, rows(EXTRACTIONS, answers), {one.purpose: one for one in bought}, recipes, 50)
    assert found is not None
    return found


def estimates(of: CallRatios) -> dict[str, Estimate]:
    return {one.name: value for one in fields(of) if isinstance(value := getattr(of, one.name), Estimate)}


def test_a_question_is_billed_for_its_texts_pictures_messages_and_its_answers_beginning() -> None:
    shown = (Picture("digest", "data:", 100), Picture("another", "data:", 50))
    messages = (Message("system", "one"), Message("user", "one two", shown), Message("assistant", "one two three"))
    request = ChatRequest("extract", messages)
    assert question_tokens(request, lambda texts: [len(text.split()) for text in texts]) == 6 + 150 + 3 * 4 + 3


def test_every_range_has_its_expected_value_in_it() -> None:
    for found in (default_ratios(Recipes.of(load_settings()), 10, 5000), ratios(EXTRACTED, SUMMARISED, EMBEDDED)):
        assert len(estimates(found)) == 6
        for name, one in estimates(found).items():
            assert one.low <= one.expected <= one.high > one.low, name


def test_ratios_of_a_past_are_those_of_its_totals() -> None:
    found = ratios(EXTRACTED, SUMMARISED, EMBEDDED)
    assert found.calls.expected == 1.5
    assert found.input.expected == pytest.approx(3 * found.output.expected)
    assert found.summaries == pytest.approx((0.25, 0.175, 0.35))  # of two dollars at today's price
    assert found.embedded == pytest.approx((0.5, 0.35, 0.7))


@pytest.mark.parametrize(("share", "expected"), [(0.5, 0.5), (1.0, 1.0), (2.0, 1.0)])
def test_no_summary_is_expected_to_be_longer_than_its_limit(share: float, expected: float) -> None:
    limit = load_settings().merging.summary_max_tokens
    found = ratios(EXTRACTED, entry("summarise", 2, 9, round(2 * share * limit), 0.5))
    assert found.summary_length.expected == pytest.approx(expected)


def test_without_answers_there_is_no_past() -> None:
    recipes, chunks = Recipes.of(load_settings()), pa.table({"chunk_id": ["a"]})
    assert own_ratios(chunks, EXTRACTIONS.empty_table(), {"extract": EXTRACTED}, recipes, 1) is None
