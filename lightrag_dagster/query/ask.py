"""Calls of the language model in a retrieval: one call, its parsed answer, and notes on its cost."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.errors import PermanentProviderError, SettingsError, TransientProviderError
from lightrag_dagster.query.keywords import fall_back_to_question, parse_keywords
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings, Settings
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import keyword_request

Read = TypeVar("Read")

_ATTEMPTS = 2

_STEPS = {"query.filter_relations": "false", "query.hops": "0", "rerank.provider": "none"}
"""Settings that have a model asked, and the value by which none is."""


class Asking(NamedTuple):
    """The language model of a search: the prompts in force, and the function that answers a request."""

    prompts: Prompts
    complete: Callable[[ChatRequest], ChatResponse]

    def keywords(self, query: str, notes: dict[str, Any]) -> Keywords:
        """Return the keywords of a question: the model's, else the question itself if it is short; notes as `read`.

        Raises:
            ProviderError: the model gave no answer.
        """
        found = self.read(keyword_request(self.prompts, query), parse_keywords, notes)
        return fall_back_to_question(found or Keywords(), query)

    def read(self, request: ChatRequest, read: Callable[[str], Read | None], notes: dict[str, Any]) -> Read | None:
        """Return an answer parsed by `read`; one that cannot be used is asked for once more, then None.

        `notes` get the reason, and the tokens of the calls, even if their answers were stored. Raises as `complete`.
        """
        for attempt in range(_ATTEMPTS):
            response = self.complete(replace(request, attempt=attempt))
            for name in ("input_tokens", "output_tokens"):
                said = name.replace("_", " ")
                notes[said] = notes.get(said, 0) + getattr(response, name)
            if (answer := read(response.text)) is not None:
                return answer
        notes["error"] = "the model's answer cannot be used"
        return None

    def optional(self, request: ChatRequest, read: Callable[[str], Read | None], notes: dict[str, Any]) -> Read | None:
        """Return an answer as `read`; None also if there is none, with a reason in `notes`.

        Raises:
            ProviderAccessError: the model cannot be used at all, or the budget is spent.
        """
        try:
            return self.read(request, read, notes)
        except (PermanentProviderError, TransientProviderError) as error:
            notes["error"] = str(error)
            return None


def parse_numbers(text: str, name: str, most: int) -> list[int] | None:
    """Read a JSON object whose list `name` has numbers from 1 to `most`; return their positions from 0, each once.

    Other items are left out. None if there is no such object, or its list has items and none of these numbers.
    """
    known = {str(number): number - 1 for number in range(1, most + 1)}
    try:
        given = read_object(text)[name]
    except (ValueError, KeyError):
        return None
    if not isinstance(given, list):
        return None
    places = list(dict.fromkeys(known[str(one)] for one in given if isinstance(one, int | str) and str(one) in known))
    return places if places or not given else None


def require_model(query: QuerySettings, settings: Settings) -> None:
    """Refuse steps that ask a model if there is none; raises SettingsError."""
    asks = (query.filter_relations, query.hops, query.rerank and settings.rerank.provider == "chat")
    wanted = [name for name, asked in zip(_STEPS, asks, strict=True) if asked]
    if wanted and settings.llm.provider == "offline":
        raise SettingsError(
            f"{wanted[0]} asks a language model, and llm.provider is offline; name a provider, such as openai,"
            f" or set {wanted[0]} to {_STEPS[wanted[0]]}"
        )
