"""Attempts of a call that are billed and yield no answer: told where they fail, paid for where the call is made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lightrag_dagster.core.protocols import ChatResponse

Pay = Callable[[ChatResponse | None], None]
"""Pays for the tokens of an attempt; None is one that was given up, and may be billed as anything."""

_pay: ContextVar[Pay | None] = ContextVar("pay", default=None)


@contextmanager
def paying(pay: Pay) -> Iterator[None]:
    """Have attempts of the calls in the block paid for by `pay`."""
    before = _pay.set(pay)
    try:
        yield
    finally:
        _pay.reset(before)


def bill(attempt: ChatResponse | None) -> None:
    """Have an attempt paid for; raises what `pay` raises, as BudgetExceededError."""
    if pay := _pay.get():
        pay(attempt)
