"""Questions to a language model in one role: stored answers cost nothing, and the price of the others is known.

An answer that cannot be used is not kept: the next attempt asks again.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import gather_or_cancel, run_sync
from lightrag_dagster.core.protocols import ChatRequest, question_tokens
from lightrag_dagster.core.roles import Role
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.models.cached import StoredChatModel, response_key
from lightrag_dagster.models.providers import chat_identity, open_chat_model
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home

_Answer = TypeVar("_Answer")


class AskingPrice(NamedTuple):
    """Questions that are not answered yet, their tokens, and their cost, None if the model's price is unknown."""

    questions: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None

    @property
    def words(self) -> str:
        """The price in words: `1,200 input and about 60 output tokens, and costs about $0.0012`."""
        cost = "an unknown price (set `llm.prices`)" if self.cost_usd is None else f"about ${self.cost_usd:.4f}"
        return f"{self.input_tokens:,} input and about {self.output_tokens:,} output tokens, and costs {cost}"


class Questionnaire(NamedTuple, Generic[_Answer]):
    """A series of questions to the model of a role, and the way to read its answers.

    `read` returns None for an answer that cannot be used; `answer_tokens` is the expected length of one. Tokens.
    """

    role: Role
    requests: Sequence[ChatRequest]
    read: Callable[[str], _Answer | None]
    answer_tokens: int

    def ask(self, settings: Settings, account: Account) -> list[_Answer | str]:
        """Ask, and return what each answer says, or the reason why there is none.

        Raises:
            ProviderAccessError: the model cannot be used at all, or the budget is spent; the answers so far are stored.
            StoreError: the response store cannot be used.
        """
        requests, done = [request for request, _ in self._known(settings)], 0

        async def ask() -> list[_Answer | str]:
            at_once = asyncio.Semaphore(settings.llm.of(self.role).max_concurrency)
            async with open_chat_model(settings.llm, Home.of(settings), self.role, account) as model:

                async def one(request: ChatRequest) -> _Answer | str:
                    nonlocal done
                    async with at_once:
                        found = await self._answer(model, request)
                    done += 1
                    progress.report("answers", done, len(requests))
                    return found

                return await gather_or_cancel(map(one, requests))

        return run_sync(ask())

    def stored(self, settings: Settings) -> list[_Answer | None]:
        """Return what each stored answer says, None without one; raises StoreError."""
        return [answer for _, answer in self._known(settings)]

    def price(self, settings: Settings) -> AskingPrice:
        """Return what `ask` would cost, without asking; raises StoreError."""
        role = settings.llm.of(self.role)
        identity = chat_identity(role)
        missing = {
            response_key(identity, request): request for request, answer in self._known(settings) if answer is None
        }
        counts = load_tokenizer(settings.chunking.encoding).counts
        price = price_of(role)
        asked = sum(question_tokens(one, counts) for one in missing.values())
        answered = len(missing) * self.answer_tokens
        return AskingPrice(len(missing), asked, answered, price.of(asked, answered) if price.known else None)

    def _known(self, settings: Settings) -> list[tuple[ChatRequest, _Answer | None]]:
        """Return each question, as an attempt whose answer is not stored, or with the usable answer beside it."""
        identity = chat_identity(settings.llm.of(self.role))
        found = list[tuple[ChatRequest, _Answer | None]]()
        with ResponseStore(Home.of(settings).responses, looking=True) as store:
            stored = store.get_many(response_key(identity, one) for one in self.requests)
            for request in self.requests:
                read, asked = None, request
                while (answer := stored.get(response_key(identity, asked))) and (
                    read := self.read(answer.text)
                ) is None:
                    asked = replace(asked, attempt=asked.attempt + 1)
                    stored |= store.get_many([response_key(identity, asked)])
                found.append((asked, read))
        return found

    async def _answer(self, model: StoredChatModel, request: ChatRequest) -> _Answer | str:
        try:
            response = await model.complete(request)
        except (PermanentProviderError, TransientProviderError) as error:
            return str(error)
        read = self.read(response.text)
        return "the model's answer cannot be used" if read is None else read
