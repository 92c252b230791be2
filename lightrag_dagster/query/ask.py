"""Calls of the language model in a retrieval: one call, its parsed answer, and notes on its cost."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.errors import PermanentProviderError, SettingsError, TransientProviderError
from lightrag_dagster.query.keywords import fall_back_to_question, parse_keywords
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import LLMSettings, QuerySettings
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import keyword_request

Read = TypeVar("Read")

_STEPS = {"filter_relations": "false", "hops": "0"}
"""Settings that have a model asked, and the value by which none is."""


class Asking(NamedTuple):
    """The language model of a search: the prompts in force, and the function that answers a request."""

    prompts: Prompts
    complete: Callable[[ChatRequest], ChatResponse]

    def keywords(self, query: str) -> Keywords:
        """Return the keywords of a question: the model's, else the question itself if it is short.

        Raises:
            ProviderError: the model gave no usable answer.
        """
        response = self.complete(keyword_request(self.prompts, query))
        return fall_back_to_question(parse_keywords(response.text), query)

    def optional(self, request: ChatRequest, read: Callable[[str], Read | None], notes: dict[str, Any]) -> Read | None:
        """Return an answer parsed by `read`; None if it cannot be used, with a reason in `notes`.

        `notes` also get the tokens of the call, even if its answer was stored.

        Raises:
            ProviderAccessError: the model cannot be used at all, or the budget is spent.
        """
        try:
            response = self.complete(request)
        except (PermanentProviderError, TransientProviderError) as error:
            notes["error"] = str(error)
            return None
        notes |= {"input tokens": response.input_tokens, "output tokens": response.output_tokens}
        answer = read(response.text)
        if answer is None:
            notes["error"] = "the model's answer cannot be used"
        return answer


def require_model(query: QuerySettings, llm: LLMSettings) -> None:
    """Refuse steps that ask a model if there is none; raises SettingsError."""
    wanted = [name for name in _STEPS if getattr(query, name)]
    if wanted and llm.provider == "offline":
        raise SettingsError(
            f"query.{wanted[0]} asks a language model, and llm.provider is offline; name a provider, such as openai,"
            f" or set query.{wanted[0]} to {_STEPS[wanted[0]]}"
        )
