"""The knowledge bases behind a service, opened when they are first asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from lightrag_dagster.errors import BudgetExceededError, SettingsError
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.refusals import RefusedError
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account

_Key = tuple[str | None, str, str]


def open_base(settings: Settings, scope: str | None, account: Account | None = None) -> KnowledgeBase:
    """Open what a scope shows of the published base; raises as `KnowledgeBase.open`."""
    if scope is not None:
        raise SettingsError(f"there is no scope {scope!r} in the settings; name one that is, or leave it out")
    return KnowledgeBase.open(settings=settings, account=account)


class Bases:
    """A knowledge base for each scope, and one for each caller and day with a limit of dollars.

    A caller with a limit has an account, named by the token and the day in UTC, so the ledger adds up what is spent, and
    no model is asked beyond.
    """

    def __init__(self, settings: Settings, seconds: float) -> None:
        """Open nothing yet; `seconds` is the longest time of a question."""
        self._settings, self._seconds = settings, seconds
        self._opened: dict[_Key, asyncio.Task[KnowledgeBase]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def warm(self, scopes: set[str | None]) -> None:
        """Open the base of each scope; raises as `KnowledgeBase.open`."""
        for scope in scopes:
            await self._base(Caller(name="warm", scope=scope))

    @asynccontextmanager
    async def asked_by(self, caller: Caller) -> AsyncIterator[KnowledgeBase]:
        """Yield the base that a caller asks; raises RefusedError when the dollars of a token are spent."""
        try:
            yield await self._base(caller)
        except BudgetExceededError:
            if caller.dollars_a_day is None:
                raise
            dollars = f"${caller.dollars_a_day:g} a day"
            raise RefusedError(
                429, f"the {dollars} of this token are spent, or too few for this question; ask after midnight UTC"
            ) from None

    async def close(self) -> None:
        """Close every base."""
        opened, self._opened = self._opened, {}
        await asyncio.gather(*(self._close(task, 0) for task in opened.values()), *self._closing)

    async def _base(self, caller: Caller) -> KnowledgeBase:
        limited = caller.dollars_a_day is not None
        day = datetime.now(UTC).date().isoformat() if limited else ""
        key = (caller.scope, caller.name if limited else "", day)
        self._retire(key)
        if key not in self._opened:
            run = f"serve {caller.name} {day}"
            account = Account(run, max_cost_usd=caller.dollars_a_day) if limited else None
            opening = asyncio.to_thread(open_base, self._settings, caller.scope, account)
            self._opened[key] = asyncio.create_task(opening)
        task = self._opened[key]
        try:
            return await asyncio.shield(task)
        except Exception:
            self._opened.pop(key, None)  # the next question opens it again
            raise

    def _retire(self, key: _Key) -> None:
        """Close the caller's base of another day, when the last question to it has ended."""
        for old in [one for one in self._opened if one[:2] == key[:2] and one[2] != key[2]]:
            closing = asyncio.create_task(self._close(self._opened.pop(old), self._seconds))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    @staticmethod
    async def _close(opening: "asyncio.Task[KnowledgeBase]", after: float) -> None:
        await asyncio.sleep(after)
        base = (await asyncio.gather(opening, return_exceptions=True))[0]
        if isinstance(base, KnowledgeBase):
            await asyncio.to_thread(base.close)


def aside(base: KnowledgeBase, name: str) -> Callable[..., Awaitable[Any]]:
    """Return a method of a base for an event loop."""
    return getattr(base, f"a{name}", None) or partial(asyncio.to_thread, getattr(base, name))
