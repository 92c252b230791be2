"""The stored answers of a model in place of the model."""

from pathlib import Path

import pytest

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.storage.database.responses import ResponseStore


def question(text: str) -> ChatRequest:
    return ChatRequest("extract", (Message("user", text),))


def test_a_stored_answer_is_given_and_a_question_without_one_fails_or_gets_a_text(tmp_path: Path) -> None:
    key = response_key("m", question("one"))
    with ResponseStore(tmp_path / "responses.sqlite") as store:
        store.put_many({key: ChatResponse("first")})
        answers = StoredAnswers("m", store)
        assert run_sync(answers.complete(question("one"))).text == "first"
        with pytest.raises(TransientProviderError, match="no answer is stored"):
            run_sync(answers.complete(question("two")))
        assert answers.used == {key}
        assert answers.known([key, "other"]) == {key}

        told = StoredAnswers("m", store, lambda asked, request: f"{asked} {request.messages[0].content}")
        assert run_sync(told.complete(question("one"))).text == "first"
        assert run_sync(told.complete(question("two"))).text == f"{response_key('m', question('two'))} two"
        with pytest.raises(TransientProviderError):
            run_sync(StoredAnswers("another model", store).complete(question("one")))
