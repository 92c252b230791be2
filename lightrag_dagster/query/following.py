"""The published knowledge base, the newest one with each question, as one object for a service."""

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from threading import Lock
from typing import Any, NoReturn, Self

from lightrag_dagster.errors import ClosedError, LightRAGError, NoSnapshotError, QueryError
from lightrag_dagster.query.filters.filters import Filters

_LOOK_SECONDS = 1.0
"""Shortest time between two looks at what is published, each at the beginning of a question."""

_log = logging.getLogger(__name__)


class Follower:
    """An object with everything that the newest KnowledgeBase has; threads and tasks may share it.

    A question is asked of one snapshot to its end. When it begins and another snapshot was published, that is opened,
    while other questions still get the one before, which is closed when its last question has ended. If the new one
    cannot be opened, the one before stays, with a warning in the log, and the next look tries again. Not so in a scope,
    which may show less now: until it can be opened, and while nothing is published any more, as of a scope that was
    removed, every question raises NoSnapshotError.
    """

    def __init__(self, knowledge: Any) -> None:
        """Take a KnowledgeBase, which its own module alone can name."""
        self._newest = knowledge
        self._warmed: tuple[Filters, ...] | None = None
        self._looking, self._looked = Lock(), time.monotonic()
        self._closed = False
        self._gone: NoSnapshotError | None = None
        self._said = ""

    @property  # type: ignore[misc]  # a proxy's class, as in weakref's, which mypy takes for an attribute to write
    def __class__(self) -> type:
        """The class of what is asked, so that `isinstance` is true for it."""
        return type(self._newest)

    def __getattr__(self, name: str) -> Any:
        asked = getattr(type(self._newest), name, None)
        if name.startswith("_") or not callable(asked):
            return getattr(self._newest, name)
        if inspect.isasyncgenfunction(asked):
            return self._streamed(name)
        if inspect.iscoroutinefunction(asked):
            return self._awaited(name)
        return getattr(self._now(), name)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a knowledge base cannot be pickled or copied; open it again where it is to be asked")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dir(self._newest)]

    def warm(self, filters: Sequence[Filters] = ()) -> None:
        """Load what a first question needs, and do so for each new snapshot before it is asked; see KnowledgeBase."""
        self._now().warm(filters)
        self._warmed = tuple(filters)

    @property
    def ready(self) -> bool:
        """True when what a question would ask now was warmed, and is open."""
        with suppress(NoSnapshotError):
            return bool(self._now().ready)
        return False

    def refresh(self) -> Self:
        """Look now at what is published."""
        self._now(due=True)
        return self

    def close(self) -> None:
        """Close it; see `KnowledgeBase.close`."""
        self._closed = True
        self._newest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"the newest {self._newest!r}"

    def _is_due(self) -> bool:
        return time.monotonic() - self._looked >= _LOOK_SECONDS

    def _now(self, *, due: bool = False) -> Any:
        """Return the newest knowledge base, after a look if one is due and no other thread is at it."""
        if (due or self._is_due()) and not self._closed and self._looking.acquire(blocking=due):
            try:
                self._look()
            finally:
                self._looked = time.monotonic()
                self._looking.release()
        if self._gone:
            raise NoSnapshotError(str(self._gone))
        return self._newest

    def _look(self) -> None:
        before = found = self._newest
        try:
            found = before.refresh()
            if found is not before and self._warmed is not None:
                found.warm()
                with suppress(QueryError):  # a filter may name a source that is gone; its questions say so
                    found.warm(self._warmed)
        except ClosedError:
            return  # of which the question says more
        except NoSnapshotError as error:  # a scope may be gone, and with it the right to ask
            self._gone = error
            return
        except LightRAGError as error:
            if found is not before:
                found.close()
            if self._said != (said := str(error)):
                outcome = "refuses questions" if before.scope else "is asked still"
                _log.warning("%s %s, since the newest snapshot cannot be opened: %s", before, outcome, said)
            self._said = said
            if before.scope:
                self._gone = NoSnapshotError(f"the newest snapshot of scope {before.scope} cannot be opened: {said}")
            return
        self._said, self._gone = "", None
        if found is not before:
            self._newest = found
            before.close_unused()
            if self._closed:
                found.close()

    async def _later(self) -> Any:
        return await asyncio.to_thread(self._now) if self._gone or self._is_due() else self._newest

    def _awaited(self, name: str) -> Callable[..., Any]:
        async def ask(*given: Any, **options: Any) -> Any:
            return await getattr(await self._later(), name)(*given, **options)

        return ask

    def _streamed(self, name: str) -> Callable[..., Any]:
        async def ask(*given: Any, **options: Any) -> AsyncIterator[Any]:
            async with aclosing(getattr(await self._later(), name)(*given, **options)) as pieces:
                async for piece in pieces:
                    yield piece

        return ask
