"""The opinions of a language model on pairs of names: asked once for two names and types, and stored.

An answer that cannot be used is not kept: the next attempt asks again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from lightrag_dagster.core import progress
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
    requests, done = [request for request, _ in _known(settings, pairs)], 0

    async def ask() -> list[Opinion]:
        at_once = asyncio.Semaphore(settings.llm.of("resolve").max_concurrency)
        async with open_chat_model(settings.llm, Home.of(settings), "resolve", account) as model:

            async def opinion(request: ChatRequest) -> Opinion:
                nonlocal done
                async with at_once:
                    found = await _opinion(model, request)
                done += 1
                progress.report("opinions", done, len(requests))
                return found

            return await gather_or_cancel(map(opinion, requests))

    return run_sync(ask())


def stored_opinions(settings: Settings, pairs: Sequence[Pair]) -> list[Opinion | None]:
    """Return the opinion on each pair that is stored, None without one; raises as `asking_price`."""
    return [opinion for _, opinion in _known(settings, pairs)]


def asking_price(settings: Settings, pairs: Sequence[Pair]) -> AskingPrice:
    """Return what `ask_pairs` would cost, without asking; raises as it does, except ProviderAccessError."""
    role = settings.llm.of("resolve")
    identity, known = chat_identity(role), _known(settings, pairs)
    missing = {response_key(identity, request): request for request, opinion in known if opinion is None}
    counts, price = load_tokenizer(settings.chunking.encoding).counts, price_of(role)
    asked, answered = sum(question_tokens(one, counts) for one in missing.values()), len(missing) * _ANSWER_TOKENS
    return AskingPrice(len(missing), asked, answered, price.of(asked, answered) if price.known else None)


def _known(settings: Settings, pairs: Sequence[Pair]) -> list[tuple[ChatRequest, Opinion | None]]:
    """Return the question about each pair, as an attempt whose answer is not stored, or has the opinion beside it."""
    identity, found = chat_identity(settings.llm.of("resolve")), list[tuple[ChatRequest, Opinion | None]]()
    requests = _requests(settings, pairs)
    with ResponseStore(Home.of(settings).responses) as store:
        stored = store.get_many(response_key(identity, one) for one in requests)
        for request in requests:
            opinion = None
            asked = request
            while (answer := stored.get(response_key(identity, asked))) and not (opinion := parse_opinion(answer.text)):
                asked = replace(asked, attempt=asked.attempt + 1)
                stored |= store.get_many([response_key(identity, asked)])
            found.append((asked, opinion))
    return found


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
