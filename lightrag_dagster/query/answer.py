"""Step 8: what is put to the language model, and what is said when there is nothing to put."""

from lightrag_dagster.llm.protocol import ChatRequest, Message
from lightrag_dagster.prompts import Prompts
from lightrag_dagster.prompts.requests import answer_request
from lightrag_dagster.query.context import render
from lightrag_dagster.query.options import Question
from lightrag_dagster.query.types import Retrieval

NO_CONTEXT = "Sorry, the knowledge base holds nothing that answers this question. [no-context]"
"""The answer where nothing was found; no model is asked."""


def request_of(prompts: Prompts, question: Question, retrieval: Retrieval) -> ChatRequest | None:
    """Return what to ask the model: in mode bypass the bare question; None where nothing was found."""
    if retrieval.mode == "bypass":
        return ChatRequest("answer", (*question.history, Message("user", question.text)))
    if retrieval.empty:
        return None
    response_type = question.settings.response_type
    return answer_request(prompts, question.text, render(retrieval), response_type, question.history)


def prompt_of(request: ChatRequest) -> str:
    """Return the messages of a request as one text, each under its role."""
    return "\n\n".join(f"--- {message.role} ---\n\n{message.content}" for message in request.messages)
