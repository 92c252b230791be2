"""What the plan says, against what a loopback server then bills."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.build.plan import Documents, compare
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.models.models import offline_answer
from tests.loopback import Answer, Loopback
from tests.support import FLOOD, OFFICE, RIVER, run, write_source


def bill(body: dict[str, Any]) -> Answer:
    """Answer by the offline rules, and count tokens as OpenAI does."""
    text, count = offline_answer(body), load_tokenizer("o200k_base").count
    asked = sum(count(message["content"]) + 4 for message in body["messages"]) + 3
    usage = {"prompt_tokens": asked, "completion_tokens": count(text), "total_tokens": 0}
    return Answer(text, usage=usage)


@pytest.fixture
def paid(tmp_path: Path, loopback: Loopback) -> Settings:
    loopback.chat = bill
    (tmp_path / "sources").mkdir()
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        documents={"accept_deletes": True},
    )


def texts(first: int, last: int) -> dict[str, str | bytes]:
    passages = (RIVER, FLOOD, OFFICE)
    return {f"{number}.txt": f"{passages[number % 3]} This is note {number}." for number in range(first, last)}


def test_first_questions_are_counted_to_the_token(paid: Settings, loopback: Loopback) -> None:
    write_source(paid, "notes", texts(0, 8))
    plan = make_plan(paid)
    assert not loopback.requests
    assert (plan.history, plan.known_price) == (False, True)
    (notes,) = plan.sources
    assert (notes.documents, notes.chunks_new, notes.chunks_stored) == (Documents(8, 0, 0), 8, 0)

    run(paid)

    first = [bill(one.body).usage["prompt_tokens"] for one in loopback.requests if len(one.body["messages"]) == 2]
    assert sum(first) == pytest.approx(notes.question_tokens, rel=0.02)
    cost = sum(entry.cost_usd for entry in Ledger(Home(paid.home).ledger).by_purpose().values())
    assert plan.total.low <= cost <= plan.total.high
    again = make_plan(paid)
    assert (again.sources[0].chunks_new, again.sources[0].chunks_stored, again.total.high) == (0, 8, 0.0)


def test_with_a_past_the_whole_run_is_known(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 12))
    run(paid)
    files = texts(1, 24)
    files["3.txt"] = RIVER.replace("2019", "2020")
    write_source(paid, "notes", files)

    plan = make_plan(paid, ["notes"])

    outcome = run(paid)
    assert plan.history
    assert plan.sources[0].documents == Documents(added=12, changed=1, removed=1)
    assert plan.sources[0].chunks_new == 13
    middle = (plan.total.low + plan.total.high) / 2
    assert outcome.cost_usd == pytest.approx(middle, rel=0.15)
    assert plan.total_by_batch.high < plan.total.high


def test_by_batch_the_whole_run_costs_what_the_plan_said_too(paid: Settings) -> None:
    llm = paid.llm.model_copy(update={"mode": "batch"})
    merging = paid.merging.model_copy(update={"summary_min_descriptions": 2})
    batched = paid.model_copy(update={"llm": llm, "merging": merging})
    write_source(batched, "notes", texts(0, 12))
    run_all(batched)
    write_source(batched, "notes", texts(0, 24))

    plan = make_plan(batched)

    assert plan.history
    assert plan.summaries.low > 0
    assert run_all(batched) == pytest.approx((plan.total_by_batch.low + plan.total_by_batch.high) / 2, rel=0.15)


def run_all(settings: Settings) -> float:
    """Run until nothing waits for a batch; return what that cost."""
    ledger = Ledger(Home(settings.home).ledger)
    before = sum(entry.cost_usd for entry in ledger.by_purpose().values())
    while run(settings).waiting:
        pass
    return sum(entry.cost_usd for entry in ledger.by_purpose().values()) - before


def test_a_price_that_nobody_knows_is_said_to_be_unknown(paid: Settings) -> None:
    write_source(paid, "notes", texts(0, 1))
    unknown = paid.model_copy(update={"llm": paid.llm.model_copy(update={"model": "llama"})})
    assert not make_plan(unknown).known_price


def test_documents_are_compared_by_path_and_content() -> None:
    before = pa.table({"path": ["a", "b", "c"], "content_hash": ["1", "2", "3"]})
    after = pa.table({"path": ["b", "c", "d"], "content_hash": ["2", "9", "1"]})
    assert compare(before, after) == Documents(added=1, changed=1, removed=1)
    assert compare(None, after) == Documents(added=3, changed=0, removed=0)


def test_a_budget_stops_a_run_that_the_next_one_goes_on_with(paid: Settings, loopback: Loopback) -> None:
    write_source(paid, "notes", texts(0, 12))
    limit = 0.0065
    tight = paid.model_copy(update={"llm": paid.llm.model_copy(update={"max_cost_usd": limit})})
    with pytest.raises(BudgetExceededError, match="--max-cost"):
        run(tight)
    ledger = Ledger(Home(paid.home).ledger)
    answered = len(loopback.requests)
    assert 0 < answered < 24
    last = ledger.last_run()
    assert last is not None
    assert 0 < ledger.spent(last) <= limit

    assert run(paid).failed == {}
    assert len(loopback.requests) <= 24 + 8
    bodies = [str(one.body) for one in loopback.requests]
    assert len(set(bodies)) == len(bodies)
