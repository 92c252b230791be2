"""The price of filed questions in a plan, compared with what a loopback server then bills."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.evaluation.pricing import plan_questions
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.plan.estimates import NOTHING, Estimate
from lightrag_dagster.plan.plan import Plan
from lightrag_dagster.plan.steps import PlannedStep
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.loopback import Answer, Loopback
from tests.models.models import offline_answer
from tests.support import FLOOD, OFFICE, RIVER, build, run, write_source

QUESTIONS: list[dict[str, Any]] = [
    {"question": "Who maintains the gauge at Halden Weir?", "documents": ["notes/river.md"]},
    {"question": "Who leads the office in Bergen?", "documents": ["notes/office.md"]},
    {"question": "What did the flood of March 2021 damage?"},
]


def bill(body: dict[str, Any]) -> Answer:
    """Answer by the offline rules, or in a form that the question asks for, and count tokens as OpenAI does."""
    system, count = body["messages"][0]["content"], load_tokenizer("o200k_base").count
    forms = {
        "You judge": '{"faithfulness": 5, "relevance": 3}',
        "high_level_keywords": '{"high_level_keywords": ["maintenance"], "low_level_keywords": ["Halden Weir"]}',
    }
    form = next((text for sign, text in forms.items() if sign in system), "Marta Lindqvist [1]")
    text = offline_answer(body) if "<|COMPLETE|>" in system else form
    asked = sum(count(message["content"]) + 4 for message in body["messages"]) + 3
    return Answer(text, usage={"prompt_tokens": asked, "completion_tokens": count(text), "total_tokens": 0})


@pytest.fixture
def asking(tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a home that files three questions, two of which name what they should find."""
    loopback.chat = bill
    values = {
        "HOME": str(tmp_path / "home"),
        "SOURCES": str(tmp_path / "sources"),
        "QUESTIONS": str(tmp_path / "questions.yaml"),
        "LLM__PROVIDER": "openai",
        "LLM__MODEL": "gpt-4o-mini",
        "EXTRACTION__GLEANING": "0",
    }
    for name, value in values.items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    (tmp_path / "questions.yaml").write_text(yaml.safe_dump(QUESTIONS))
    settings = load_settings()
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    return settings


def spent(settings: Settings) -> float:
    """Return what questions have cost."""
    entries = Ledger(Home(settings.home).ledger).by_purpose().items()
    return sum(one.cost_usd for purpose, one in entries if purpose in ("keywords", "answer", "judge"))


@pytest.mark.long
def test_filed_questions_are_in_the_plan_of_the_run_that_asks_them(
    asking: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def planned() -> dict[str, Any]:
        code, output, _ = command(capfd, monkeypatch, "plan", "--json")
        assert code == 0
        plan: dict[str, Any] = json.loads(output)
        assert plan["total"]["high"] >= plan["steps"]["questions"]["cost"]["high"]
        return dict(plan["steps"]["questions"])

    first = planned()
    assert first["calls"] == {"expected": 9, "low": 9, "high": 12}, "3 answers, 2 short ones, 2 marks, 2 keywords"
    build(asking)
    assert planned()["calls"] == first["calls"], "pending, though nothing is left to publish"
    run(asking)
    calls = Counter({role: one.calls for role, one in Ledger(Home(asking.home).ledger).by_purpose().items()})
    assert [calls[role] for role in ("answer", "judge", "keywords")] == [5, 2, 2]
    assert 0 < spent(asking) <= first["cost"]["high"]
    assert planned()["calls"]["high"] == planned()["cost"]["high"] == 0, "all is stored"

    write_source(asking, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.md": FLOOD, "office.md": OFFICE})
    changed, before = planned(), spent(asking)
    assert (changed["calls"]["low"], changed["calls"]["high"]) == (0, 9), "its contexts may be the same"
    run(asking)
    assert 0 < spent(asking) - before <= changed["cost"]["high"] < first["cost"]["high"], "by what was asked before"

    more = [*QUESTIONS, {"question": "Who joined Orrin Instruments?", "mode": "local"}]
    (tmp_path / "questions.yaml").write_text(yaml.safe_dump(more))
    another = planned()
    assert another["calls"] == {"expected": 1, "low": 1, "high": 2}, "an answer, and perhaps keywords"
    answered = Ledger(Home(asking.home).ledger).by_purpose()["answer"]
    assert another["input_tokens"]["expected"] < 2 * answered.input_tokens / answered.calls, "by this home's average"


@pytest.mark.long
def test_a_judge_without_a_price_is_named_and_an_offline_home_asks_nothing(
    asking: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__ROLES", '{"judge": {"model": "no-such-model"}}')
    code, output, _ = command(capfd, monkeypatch, "plan", "--json")
    assert (code, json.loads(output)["unknown_prices"]) == (0, ["no-such-model"])
    code, output, _ = command(capfd, monkeypatch, "plan")
    assert "questions" in output
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "offline")
    assert "questions" not in command(capfd, monkeypatch, "plan")[1]


def test_a_context_is_as_long_as_that_of_a_former_model(asking: Settings) -> None:
    def tokens() -> tuple[Estimate | None, Estimate | None]:
        plan = Plan([], True, [], {"embeddings": PlannedStep(NOTHING, NOTHING)})
        plan_questions(plan, asking)
        return plan.steps["questions"].input_tokens, plan.steps["questions"].output_tokens

    inputs, outputs = tokens()
    entry = Entry("run", "answer", "", "openai/former", 10, 0, 90_000, 0, 2_000, 1.0)
    Ledger(Home(asking.home).ledger).add(entry)
    measured, same = tokens()
    assert inputs is not None
    assert measured is not None
    assert inputs.expected - measured.expected == 5 * (asking.query.max_total_tokens - 9000)
    assert same == outputs, "a model's own"
    Ledger(Home(asking.home).ledger).add(
        replace(entry, model=chat_identity(asking.llm.of("answer")), input_tokens=7000)
    )
    measured, same = tokens()
    assert measured is not None
    assert inputs.expected - measured.expected == 5 * (asking.query.max_total_tokens - 700)
    assert same != outputs
