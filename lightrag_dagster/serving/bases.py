"""The knowledge bases behind a service, opened when they are first asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from lightrag_dagster.errors import BudgetExceededError
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.refusals import RefusedError
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account

_Key = tuple[str | None, str, str]


def open_base(settings: Settings, scope: str | None, account: Account | None) -> KnowledgeBase:
    """Open what a scope shows of the newest published base, warm; raises as `KnowledgeBase.open`."""
    base = KnowledgeBase.follow(settings=settings, scope=scope, account=account)
    base.warm()
    return base


class Bases:
    """A knowledge base for each scope, and one for each caller and day with a limit of dollars.

    A caller with a limit has an account, named by the token and the day in UTC: the ledger adds up what is spent, and
    no model is asked beyond, nor beyond the limits of a day and a month in the settings.
    """

    def __init__(self, settings: Settings, seconds: float) -> None:
        """Open nothing yet; `seconds` is the longest time of a question."""
        self._settings, self._seconds = settings, seconds
        self._opened: dict[_Key, asyncio.Task[KnowledgeBase]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def asked_by(self, caller: Caller) -> AsyncIterator[KnowledgeBase]:
        """Yield the base that a caller asks; raises RefusedError when its dollars, or those of all, are spent."""
        try:
            yield await self.of(caller)
        except BudgetExceededError as error:
            if caller.dollars_a_day is None:
                raise
            dollars, then = f"the ${caller.dollars_a_day:g} a day of this token", "after midnight"
            if error.of != "run":
                dollars = f"the dollars a {error.of} of all who ask"
            if error.of == "month":
                then = "next month"
            raise RefusedError(429, f"{dollars} are spent, or too few for this question; ask {then} UTC") from None

    async def of(self, caller: Caller) -> KnowledgeBase:
        """Return the base that a caller asks; raises as `open_base`."""
        limit, today = caller.dollars_a_day, datetime.now(UTC).date().isoformat()
        key = (caller.scope, "", "") if limit is None else (caller.scope, caller.name, today)
        for old in [one for one in self._opened if one[:2] == key[:2] and one != key]:
            closing = asyncio.create_task(self._close(self._opened.pop(old), self._seconds))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        if key not in self._opened:
            account = None
            if limit is not None:
                of_all = Account.of(f"serve {caller.name} {today}", "", self._settings.llm)
                account = replace(of_all, max_cost_usd=limit)
            opening = asyncio.to_thread(open_base, self._settings, caller.scope, account)
            self._opened[key] = asyncio.create_task(opening)
        try:
            return await asyncio.shield(self._opened[key])
        except Exception:
            self._opened.pop(key, None)  # the next question opens it again
            raise

    async def look(self) -> None:
        """Have each base look at what is published, so that none holds a replaced snapshot; raises as `open_base`."""
        opened = await asyncio.gather(*map(asyncio.shield, list(self._opened.values())))
        await asyncio.gather(*(asyncio.to_thread(one.refresh) for one in opened))

    async def close(self) -> None:
        """Close every base."""
        closing = [*self._closing, *(asyncio.create_task(self._close(one, 0)) for one in self._opened.values())]
        for one in self._closing:
            one.cancel()
        await asyncio.gather(*closing, return_exceptions=True)

    @staticmethod
    async def _close(opening: "asyncio.Task[KnowledgeBase]", after: float) -> None:
        """Close a base when the last question to it has ended."""
        try:
            await asyncio.sleep(after)
        finally:
            (base,) = await asyncio.gather(opening, return_exceptions=True)
            if not isinstance(base, BaseException):
                await asyncio.to_thread(base.close)
