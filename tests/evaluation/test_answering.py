import asyncio

import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError
from lightrag_dagster.evaluation.answering import Judgement, exact_match, f1, judge_all, parse_judgement
from lightrag_dagster.evaluation.questions import GoldQuestion
from lightrag_dagster.query.knowledge_base import Prepared
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.stages.prompts import load_prompts
from tests.models.models import ScriptedChatModel


@pytest.mark.parametrize(
    ("answer", "known", "match", "overlap"),
    [
        ("The Friday Clock.", "friday clock", 1, 1),
        ("It is the Friday Clock", "Friday Clock", 0, 2 * 2 / (4 + 2)),
        ("Nobody knows", "Friday Clock", 0, 0),
        ("", "Friday Clock", 0, 0),
        ("a the", "The!", 1, 1),
        ("clock clock", "clock", 0, 2 / 3),
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
def test_a_judgement_is_two_marks(text: str, expected: Judgement | None) -> None:
    assert parse_judgement(text) == expected


def model(reply: str | Exception) -> ScriptedChatModel:
    """Answer each request by the same text, or raise the same error."""

    def answer(request: ChatRequest) -> str:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return ScriptedChatModel(answer)


QUESTION = GoldQuestion(question="Which check?", documents=["a/b.md"], answer="Friday Clock")
FOUND = Prepared(
    Retrieval("Which check?", "mix", "gen-1", Keywords()), ChatRequest("answer", (Message("user", "Which check?"),))
)
NOTHING = Prepared(Retrieval("Which check?", "mix", "gen-1", Keywords()), None)


def judged(prepared: Prepared, answering: ScriptedChatModel, judging: ScriptedChatModel) -> dict[str, object]:
    table = asyncio.run(judge_all([(QUESTION, prepared)], answering, judging, load_prompts(None), 2))
    rows: list[dict[str, object]] = table.to_pylist()
    (row,) = rows
    return row


def test_an_answer_is_compared_and_judged_without_its_references() -> None:
    answering = model("Friday Clock\n\n### References\n\n- [1] a/b.md")
    judging = model('{"faithfulness": 5, "relevance": 3}')
    row = judged(FOUND, answering, judging)
    assert row == {
        "mode": "mix", "question": "Which check?", "answer": "Friday Clock",
        "exact_match": 1, "f1": 1, "faithfulness": 1, "relevance": 0.5,
    }  # fmt: skip
    (request,) = judging.requests
    assert request.role == "judge"
    assert "References" not in request.messages[-1].content


def test_what_is_not_answered_or_judged_is_null() -> None:
    refused = PermanentProviderError("filtered")
    assert judged(FOUND, model(refused), model("unused"))["answer"] is None
    unjudged = judged(FOUND, model("Friday Clock"), model("I cannot say"))
    assert (unjudged["f1"], unjudged["faithfulness"]) == (1, None)
    nothing = judged(NOTHING, model("unused"), model("unused"))
    assert nothing["answer"] is None


def test_no_key_ends_it() -> None:
    with pytest.raises(ProviderAccessError):
        judged(FOUND, model(ProviderAccessError("no key")), model("unused"))
