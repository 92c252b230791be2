"""Questions that a model drafts from passages: asked once, read with care, written for people."""

import shutil
from pathlib import Path

import pytest

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.evaluation.drafting import Draft, Drafted, Drafting, parse_draft
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.sample import take_sample
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply

ACCOUNT = Account("questions")
MODEL = {
    "provider": "openai",
    "model": "gpt-4o-mini",
    "max_retries": 0,
    "prices": {"gpt-4o-mini": {"input": 1.0, "output": 2.0}},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"question": "Who  built\\nit?", "answer": "Orrin"}', Draft("Who built it?", "Orrin")),
        ('```json\n{"question": "When?", "answer": 2019}\n```', Draft("When?", "2019")),
        ('{"question": null, "answer": null}', Draft("", "")),
        ('{"question": "When?"}', Draft("When?", "")),
        ('{"question": ["When?"], "answer": ""}', None),
        ('{"answer": "2019"}', None),
        ("When was it built?", None),
    ],
)
def test_a_draft_is_an_object_with_a_question(text: str, expected: Draft | None) -> None:
    assert parse_draft(text) == expected


@pytest.fixture
def settings(published_home: Path, tmp_path: Path) -> Settings:
    return load_settings(
        home=shutil.copytree(published_home, tmp_path / "home"), sources=published_home.parent / "sources", llm=MODEL
    )


def drafting(settings: Settings, count: int = 9) -> Drafting:
    return Drafting(settings, take_sample(Situation.looking(settings), 100), count, least_tokens=5)


@pytest.mark.long
def test_a_question_names_the_documents_of_its_passage_and_is_bought_once(
    settings: Settings, loopback: Loopback
) -> None:
    def chat(body: dict[str, object]) -> str:
        text = str(body["messages"])
        if "Priya Nair" in text:
            return '{"question": "Who repaired the sensor at Station 14?", "answer": "Priya Nair"}'
        return '{"question": null, "answer": null}' if "Bergen" in text else "I cannot say."

    loopback.chat = chat
    made = drafting(settings)
    assert (made.passages, made.price().questions) == (4, 4)
    drafted = made.draft(ACCOUNT)
    question = FiledQuestion(
        question="Who repaired the sensor at Station 14?",
        documents=["archive/shared.md", "office/copy.md"],
        answer="Priya Nair",
    )
    assert drafted == Drafted([question], 1, ["the model's answer cannot be used"] * 2)

    before = len(loopback.requests)
    assert drafting(settings).price().questions == 2, "the two that cannot be used are asked again"
    drafting(settings).draft(ACCOUNT)
    assert len(loopback.requests) - before == 2
    bought = Ledger(Home.of(settings).ledger).by_purpose()["draft"]
    assert bought.calls == 6


def test_a_failed_call_leaves_out_its_question(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: '{"question": "Who?", "answer": ""}'
    loopback.script.append(Reply.error(400))
    drafted = drafting(settings, 2).draft(ACCOUNT)
    assert [len(drafted.questions), drafted.unfit, len(drafted.failed)] == [1, 0, 1]


def test_a_budget_bounds_drafts(settings: Settings, loopback: Loopback) -> None:
    with pytest.raises(BudgetExceededError):
        drafting(settings).draft(Account("questions", max_cost_per_day_usd=0.0))
    assert not loopback.requests
