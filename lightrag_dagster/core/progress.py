"""Progress of long stages, for whoever wants to show it.

A stage calls `report`; the command line listens by `listening`. Nobody listening costs nothing, and no stage needs a
parameter for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)


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
