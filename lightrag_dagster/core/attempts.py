"""Attempts of a call: each can be paid for before it is made, and those without an answer are billed as well."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from lightrag_dagster.core.holding import holding
from lightrag_dagster.core.protocols import ChatResponse

Pay = Callable[[ChatResponse | None], None]
"""Pays for the tokens of an attempt; None is one that was given up, and may be billed as anything."""

_payer: ContextVar[tuple[Pay, Callable[[], Awaitable[None]]] | None] = ContextVar("payer", default=None)


def paying(pay: Pay, reserve: Callable[[], Awaitable[None]]) -> AbstractContextManager[None]:
    """Have attempts of the calls in the block paid for by `pay`, after `reserve` has set money aside for each."""
    return holding(_payer, (pay, reserve))


async def afford() -> None:
    """Wait until an attempt can be paid for; raises BudgetExceededError if it cannot."""
    if payer := _payer.get():
        await payer[1]()


def bill(attempt: ChatResponse | None) -> None:
    """Have an attempt without an answer paid for."""
    if payer := _payer.get():
        payer[0](attempt)
