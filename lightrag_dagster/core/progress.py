"""Progress of long stages, for a listener that shows it.

A stage calls `report`; the command line listens by `listening`. Without a listener it costs nothing, and no stage
needs a parameter for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)


class Display(Protocol):
    """Shows the steps of a run as they begin and end; what a step counts comes by `report`."""

    def run(self, name: str) -> None:
        """Say which run the following steps belong to."""
        ...

    def start(self, step: str) -> None:
        """Show a step as running."""
        ...

    def finish(self) -> None:
        """Show the running step as done."""
        ...


def report(stage: str, done: int, total: int) -> None:
    """Tell the listener, if any, that `done` of `total` units of `stage` are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send reports made inside the block, in this thread and its asyncio tasks, to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
