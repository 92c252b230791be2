"""The knowledge bases behind a service, opened when they are first asked."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.access import Caller
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account


class Bases:
    """A knowledge base for each scope, and one for each caller and day with a limit of dollars.

    A caller with a limit has an account, named by the token and the day in UTC: the ledger adds up what is spent, and
    no model is asked beyond, nor beyond the limits of a day and a month in the settings.
    """

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._opened: dict[tuple[str | None, str, str], asyncio.Task[KnowledgeBase]] = {}

    async def of(self, caller: Caller) -> KnowledgeBase:
        """Return the base that a caller asks; raises as `KnowledgeBase.open`."""
        today = datetime.now(UTC).date().isoformat()
        key = (caller.scope, "", "") if caller.dollars_a_day is None else (caller.scope, caller.name, today)
        for old in [one for one in self._opened if one[:2] == key[:2] and one != key]:
            self._opened.pop(old).add_done_callback(_close_unused)
        if key not in self._opened:
            self._opened[key] = asyncio.create_task(asyncio.to_thread(self._open, caller, today))
        try:
            return await asyncio.shield(self._opened[key])
        except Exception:
            self._opened.pop(key, None)  # the next question opens it again
            raise

    def _open(self, caller: Caller, today: str) -> KnowledgeBase:
        account = None
        if caller.dollars_a_day is not None:
            of_all = Account.of(f"serve {caller.name} {today}", "", self._settings.llm)
            account = replace(of_all, max_cost_usd=caller.dollars_a_day)
        base = KnowledgeBase.follow(settings=self._settings, scope=caller.scope, account=account)
        base.warm()
        return base

    async def look(self, scopes: Iterable[str | None]) -> list[Exception]:
        """Open what some scopes show, have every base look at what is published, and return the errors.

        So no base holds a replaced snapshot, and one scope without any keeps no other from looking.
        """
        opening = (self.of(Caller(name="opening", scope=one)) for one in scopes)
        opened = await asyncio.gather(*opening, return_exceptions=True)
        bases = [one.result() for one in self._opened.values() if one.done() and not one.exception()]
        looked = await asyncio.gather(*(asyncio.to_thread(one.refresh) for one in bases), return_exceptions=True)
        return [one for one in (*opened, *looked) if isinstance(one, Exception)]

    async def close(self) -> None:
        """Close every base."""
        opened = await asyncio.gather(*self._opened.values(), return_exceptions=True)
        bases = [one for one in opened if not isinstance(one, BaseException)]
        await asyncio.gather(*(asyncio.to_thread(one.close) for one in bases), return_exceptions=True)


def _close_unused(opened: "asyncio.Task[KnowledgeBase]") -> None:
    """Close the base of a day that is over when its last question has ended."""
    if not opened.exception():
        opened.result().close_unused()
