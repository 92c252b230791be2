"""Progress of long stages, reported without a parameter: a stage reports, and the command line listens."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol

from lightrag_dagster.core.holding import holding

Listener = Callable[[str, int, int], None]
NoteListener = Callable[[str], None]

_listeners: ContextVar[tuple[tuple[Listener, NoteListener | None], ...]] = ContextVar("progress_listeners", default=())
_part: ContextVar[tuple[int, int, int] | None] = ContextVar("progress_part", default=None)


class Display(Protocol):
    """A view of the steps of a run as they begin and end; counts of a step come by `report`."""

    def run(self, name: str) -> None:
        """Begin the steps of a run."""

    def start(self, step: str) -> None:
        """Show a step as running."""

    def finish(self) -> None:
        """Show the running step as done."""


def report(stage: str, done: int, total: int) -> None:
    """Tell all listeners that `done` of `total` units of `stage` are finished."""
    if (part := _part.get()) is not None:
        number, count, all_units = part
        done, total = round(all_units * (number + done / max(total, 1)) / count), all_units
    for listener, _ in _listeners.get():
        listener(stage, done, total)


def part(number: int, count: int, total: int) -> AbstractContextManager[None]:
    """Count reports of the block, in this thread and its asyncio tasks, as one of `count` equal parts."""
    return holding(_part, (number, count, total) if count > 1 else None)


def note(text: str) -> None:
    """Tell all listeners of notes about a wait of the running step; an empty text ends the wait."""
    for _, listener in _listeners.get():
        if listener is not None:
            listener(text)


def listening(listener: Listener, on_note: NoteListener | None = None) -> AbstractContextManager[None]:
    """Send reports and notes made inside the block, in this thread and its asyncio tasks, to further listeners."""
    return holding(_listeners, (*_listeners.get(), (listener, on_note)))
