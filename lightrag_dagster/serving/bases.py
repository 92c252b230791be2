"""The knowledge bases behind a service, opened when they are first asked."""

import asyncio
from collections.abc import Iterable

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import Settings


class Bases:
    """A knowledge base for each scope, and one for everything."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._opened: dict[str | None, asyncio.Task[KnowledgeBase]] = {}

    async def of(self, scope: str | None) -> KnowledgeBase:
        """Return the base of a scope; raises as `KnowledgeBase.open`."""
        if scope not in self._opened:
            self._opened[scope] = asyncio.create_task(asyncio.to_thread(self._open, scope))
        opening = self._opened[scope]
        try:
            return await asyncio.shield(opening)
        except Exception:
            if self._opened.get(scope) is opening:  # another question may have begun a new one
                del self._opened[scope]
            raise

    def _open(self, scope: str | None) -> KnowledgeBase:
        base = KnowledgeBase.follow(settings=self._settings, scope=scope)
        base.warm()
        return base

    async def look(self, scopes: Iterable[str | None]) -> list[Exception]:
        """Open what some scopes show, have every base look at what is published, and return the errors.

        So no base holds a replaced snapshot, and one scope without any keeps no other from looking.
        """
        opened = await asyncio.gather(*map(self.of, scopes), return_exceptions=True)
        bases = [one.result() for one in self._opened.values() if one.done() and not one.exception()]
        looked = await asyncio.gather(*(asyncio.to_thread(one.refresh) for one in bases), return_exceptions=True)
        return [one for one in (*opened, *looked) if isinstance(one, Exception)]

    async def close(self) -> None:
        """Close every base."""
        opened = await asyncio.gather(*self._opened.values(), return_exceptions=True)
        bases = [one for one in opened if not isinstance(one, BaseException)]
        await asyncio.gather(*(asyncio.to_thread(one.close) for one in bases), return_exceptions=True)
