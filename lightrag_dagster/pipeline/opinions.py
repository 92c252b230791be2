"""The opinions of a language model on pairs of names: asked once for two names and types, and stored."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from lightrag_dagster.core.aio import gather_or_cancel, run_sync
from lightrag_dagster.core.protocols import ChatRequest
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import PermanentProviderError, SettingsError, TransientProviderError
from lightrag_dagster.models.cached import StoredChatModel, response_key
from lightrag_dagster.models.providers import chat_identity, open_chat_model
from lightrag_dagster.pipeline.plan.estimates import question_tokens
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import PairEnd, resolve_request
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home

Pair = tuple[PairEnd, PairEnd]

_ANSWER_TOKENS = 60
"""Tokens of an answer: an object with one short sentence. Not measured."""


class Opinion(NamedTuple):
    """A model's opinion whether two names are one, None if it cannot tell or `failed`; and its reason, or the error."""

    same: bool | None
    reason: str
    failed: bool = False


class AskingPrice(NamedTuple):
    """Questions that are not answered yet, their tokens, and their cost, None if the model's price is unknown."""

    questions: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


def ask_pairs(settings: Settings, pairs: Sequence[Pair], account: Account) -> list[Opinion]:
    """Ask the model of the role `resolve` about pairs of names; stored opinions cost nothing.

    Raises:
        SettingsError: there is no language model.
        ProviderAccessError: the model cannot be used at all, or the budget is spent; the answers so far are stored.
        StoreError: the response store cannot be used.
    """
    requests = _requests(settings, pairs)

    async def ask() -> list[Opinion]:
        at_once = asyncio.Semaphore(settings.llm.of("resolve").max_concurrency)
        async with open_chat_model(settings.llm, Home.of(settings), "resolve", account) as model:

            async def opinion(request: ChatRequest) -> Opinion:
                async with at_once:
                    return await _opinion(model, request)

            return await gather_or_cancel(map(opinion, requests))

    return run_sync(ask())


def asking_price(settings: Settings, pairs: Sequence[Pair]) -> AskingPrice:
    """Return what `ask_pairs` would cost, without asking; raises as it does, except ProviderAccessError."""
    role = settings.llm.of("resolve")
    requests = {response_key(chat_identity(role), one): one for one in _requests(settings, pairs)}
    with ResponseStore(Home.of(settings).responses) as store:
        missing = [requests[key] for key in requests.keys() - store.get_many(requests).keys()]
    counts, price = load_tokenizer(settings.chunking.encoding).counts, price_of(role)
    asked, answered = sum(question_tokens(one, counts) for one in missing), len(missing) * _ANSWER_TOKENS
    return AskingPrice(len(missing), asked, answered, price.of(asked, answered) if price.known else None)


def _requests(settings: Settings, pairs: Sequence[Pair]) -> list[ChatRequest]:
    if settings.llm.provider == "offline":
        raise SettingsError(
            "llm.provider is offline, and only a language model can compare names; name a provider, such as openai, "
            "or leave out --ask"
        )
    prompts = load_prompts(settings.prompts, settings.language)
    return [resolve_request(prompts, *pair) for pair in pairs]


async def _opinion(model: StoredChatModel, request: ChatRequest) -> Opinion:
    try:
        response = await model.complete(request)
    except (PermanentProviderError, TransientProviderError) as error:
        return Opinion(None, str(error), failed=True)
    return parse_opinion(response.text) or Opinion(None, "the model's answer cannot be used", failed=True)


def parse_opinion(text: str) -> Opinion | None:
    """Read a model's answer, a JSON object with `same` and `reason`; None if it is something else."""
    try:
        found = read_object(text)
        same = found["same"]
    except (ValueError, KeyError, TypeError):
        return None
    if same is not None and not isinstance(same, bool):
        return None
    reason = found.get("reason")
    return Opinion(same, " ".join(reason.split()) if isinstance(reason, str) else "")
