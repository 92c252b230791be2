import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.evaluation.evaluation import Judgement, exact_match, f1, judge_answers, parse_judgement
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.summary import count_unjudged
from lightrag_dagster.schemas import EVALUATED_QUESTIONS
from lightrag_dagster.settings import LLMSettings, load_settings
from tests.loopback import Loopback, Reply


@pytest.mark.parametrize(
    ("answer", "known", "match", "overlap"),
    [
        ("The Friday Clock.", "friday clock", 1, 1),
        ("It is the Friday Clock", "Friday Clock", 0, 2 * 2 / (4 + 2)),
        ("Nobody knows", "Friday Clock", 0, 0),
        ("", "Friday Clock", 0, 0),
        ("a the", "The!", 1, 1),
        ("clock clock", "clock", 0, 2 / 3),
        ("It’s a well-known U.S. clock: $5!", "its wellknown US clock 5", 1, 1),
        ("»Acme«", "Acme", 1, 1),
        ("東京。", "東京", 1, 1),
        ("東京都庁です", "東京都庁", 0, 2 * 4 / (6 + 4)),
        ("서울 시청", "서울", 0, 2 / 3),
    ],
)
def test_against_the_known_answer(answer: str, known: str, match: float, overlap: float) -> None:
    assert exact_match(answer, known) == match
    assert f1(answer, known) == pytest.approx(overlap)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"faithfulness": 5, "relevance": 1}', Judgement(1, 0)),
        ('```json\n{"faithfulness": 3, "relevance": 4}\n```', Judgement(0.5, 0.75)),
        ('<think>{"faithfulness": 1}?</think>{"faithfulness": 5, "relevance": 1}', Judgement(1, 0)),
        ('{"faithfulness": 6, "relevance": 4}', None),
        ('{"faithfulness": ' + "[" * 100_000, None),
        ('{"faithfulness": 3}', None),
        ('{"faithfulness": "high", "relevance": 4}', None),
        ('{"faithfulness": 3, "rel', None),
        ("Five out of five", None),
        ("", None),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_judgement_is_two_marks(text: str, expected: Judgement | None) -> None:
    assert parse_judgement(text) == expected


WEIR = "Who maintains the gauge at Halden Weir?"
QUESTION = FiledQuestion(question=WEIR, documents=["archive/weir.md"], answer="Marta Lindqvist")
MARKS = '{"faithfulness": 5, "relevance": 3}'


@pytest.fixture
def knowledge(published_home: Path, tmp_path: Path, loopback: Loopback) -> Iterator[KnowledgeBase]:
    """A knowledge base whose questions go to an endpoint, which finds keywords as the offline provider does."""
    home = shutil.copytree(published_home, tmp_path / "home")
    llm = {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0, "roles": {"keywords": {"model": "keywords"}}}
    with KnowledgeBase.open(settings=load_settings(home=home, llm=llm)) as opened:
        yield opened


def judged(knowledge: KnowledgeBase, question: FiledQuestion = QUESTION) -> dict[str, object]:
    (row,) = judge_answers(knowledge, [question]).to_pylist()
    return dict(row)


def replies(answer: str, marks: str) -> Callable[[dict[str, Any]], str]:
    def reply(body: dict[str, Any]) -> str:
        system = body["messages"][0]["content"]
        if body["model"] == "keywords":
            return '{"high_level_keywords": ["maintenance"], "low_level_keywords": ["Halden Weir"]}'
        return marks if "You judge" in system else answer

    return reply


def test_an_answer_is_compared_and_judged_without_its_references(knowledge: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = replies("Marta Lindqvist\n\n### References\n\n- [1] archive/weir.md", MARKS)
    assert judged(knowledge) == {
        "mode": "fusion", "question": WEIR, "answer": "Marta Lindqvist",
        "exact_match": 1, "f1": 1, "faithfulness": 1, "relevance": 0.5,
    }  # fmt: skip
    assert "### References" not in loopback.requests[-1].body["messages"][-1]["content"]


def test_a_mark_that_cannot_be_read_is_asked_for_once_more_then_null(
    knowledge: KnowledgeBase, loopback: Loopback
) -> None:
    loopback.chat = replies("Marta Lindqvist", "I cannot say")
    row = judged(knowledge)
    assert (row["f1"], row["faithfulness"]) == (1, None)
    assert sum("You judge" in one.body["messages"][0]["content"] for one in loopback.requests if one.body) == 2


def test_a_question_without_a_context_has_an_empty_answer_that_scores_nothing(
    knowledge: KnowledgeBase, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = knowledge.prepare
    monkeypatch.setattr(knowledge, "prepare", lambda *a, **o: dataclasses.replace(prepare(*a, **o), request=None))
    loopback.chat = replies("Marta Lindqvist", MARKS)
    assert judged(knowledge) == {
        "mode": "fusion", "question": WEIR, "answer": "",
        "exact_match": 0, "f1": 0, "faithfulness": None, "relevance": 0,
    }  # fmt: skip


def test_answers_without_a_judgement_are_counted_and_empty_ones_are_not() -> None:
    nothing, none = {"answer": "", "relevance": 0.0, "faithfulness": None}, {"answer": None, "relevance": None}
    good, unread = {"answer": "a", "relevance": 1.0, "faithfulness": 0.5}, {"answer": "a", "relevance": None}
    rows = pa.Table.from_pylist(
        [{"mode": "mix"} | one for one in (good, unread, none, nothing)] + [{"mode": "naive"} | none],
        EVALUATED_QUESTIONS,
    )
    paid = LLMSettings(provider="openai", model="m")
    assert [count_unjudged(rows, "mix", llm) for llm in (paid, LLMSettings())] == [2, 0]


def test_a_question_that_is_refused_is_null(knowledge: KnowledgeBase, loopback: Loopback) -> None:
    loopback.script.append(Reply.error(400))
    assert judged(knowledge)["answer"] is None


def test_a_refused_key_ends_it(knowledge: KnowledgeBase, loopback: Loopback) -> None:
    loopback.script.append(Reply.error(401))
    with pytest.raises(ProviderAccessError):
        judged(knowledge)
