import pytest

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.query.answer import prompt_of, request_of
from lightrag_dagster.query.options import QueryOptions, question_of
from lightrag_dagster.query.types import Entity, Keywords, Retrieval
from lightrag_dagster.settings import QuerySettings
from lightrag_dagster.stages.prompts import load_prompts

HISTORY = (Message("user", "Hello"), Message("assistant", "Yes?"))
ENTITY = Entity("ent-1", "Ada", "person", "Wrote notes.", 3, 0.5)


def retrieval(mode: str, *entities: Entity) -> Retrieval:
    return Retrieval("Who wrote?", mode, "gen-1", Keywords(), entities=entities)


def test_context_history_question() -> None:
    options: QueryOptions = {"history": HISTORY, "response_type": "One line"}
    question = question_of("Who wrote?", options, QuerySettings())
    request = request_of(load_prompts(None), question, retrieval("mix", ENTITY))
    assert request is not None
    assert request.role == "answer"
    assert request.messages[1:] == (*HISTORY, Message("user", "Who wrote?"))
    assert "One line" in request.messages[0].content
    assert '{"entity": "Ada", "type": "person", "description": "Wrote notes."}' in request.messages[0].content


def test_bypass_puts_the_bare_question() -> None:
    question = question_of("Who wrote?", {"mode": "bypass", "history": HISTORY}, QuerySettings())
    request = request_of(load_prompts(None), question, retrieval("bypass"))
    assert request is not None
    assert request.messages == (*HISTORY, Message("user", "Who wrote?"))
    assert prompt_of(request).endswith("--- user ---\n\nWho wrote?")


@pytest.mark.parametrize("mode", ["naive", "local", "global", "hybrid", "mix"])
def test_nothing_found_asks_nothing(mode: str) -> None:
    question = question_of("Who wrote?", {"mode": mode}, QuerySettings())
    assert request_of(load_prompts(None), question, retrieval(mode)) is None
