"""Step 8: what is put to the language model, and what is said when there is nothing to put."""

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.query.context import render
from lightrag_dagster.query.options import Question
from lightrag_dagster.query.types import Retrieval
from lightrag_dagster.stages.prompts import NO_CONTEXT, Prompts
from lightrag_dagster.stages.prompts.requests import answer_request


def context_of(retrieval: Retrieval) -> str:
    """Return the context that a model would see, or what is said when there is none."""
    return NO_CONTEXT if retrieval.empty else render(retrieval)


def request_of(prompts: Prompts, question: Question, retrieval: Retrieval) -> ChatRequest | None:
    """Return what to ask the model: in mode bypass the bare question; None where nothing was found."""
    if retrieval.mode == "bypass":
        return ChatRequest("answer", (*question.history, Message("user", question.text)))
    if retrieval.empty:
        return None
    return in_context(prompts, question, render(retrieval))


def in_context(prompts: Prompts, question: Question, context: str) -> ChatRequest:
    """Return the question with its instructions, history and a context."""
    settings = question.settings
    return answer_request(
        prompts,
        question.text,
        context,
        settings.response_type,
        question.history,
        user_prompt=settings.user_prompt,
        system_prompt=settings.system_prompt,
    )


def prompt_of(request: ChatRequest) -> str:
    """Return the messages of a request as one text, each under its role."""
    return "\n\n".join(f"--- {message.role} ---\n\n{message.content}" for message in request.messages)
