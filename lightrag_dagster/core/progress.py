"""Progress of long stages, reported without a parameter: a stage reports, and the command line listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Listener = Callable[[str, int, int], None]
NoteListener = Callable[[str], None]

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)
_part: ContextVar[tuple[int, int, int] | None] = ContextVar("progress_part", default=None)
_note_listener: ContextVar[NoteListener | None] = ContextVar("progress_note_listener", default=None)


class Display(Protocol):
    """A view of the steps of a run as they begin and end; counts of a step come by `report`."""

    def run(self, name: str) -> None:
        """Begin the steps of a run."""
        ...

    def start(self, step: str) -> None:
        """Show a step as running."""
        ...

    def finish(self) -> None:
        """Show the running step as done."""
        ...


def report(stage: str, done: int, total: int) -> None:
    """Tell the listener, if any, that `done` of `total` units of `stage` are finished."""
    listener, part = _listener.get(), _part.get()
    if listener is not None:
        if part is not None:
            number, count, all_units = part
            done, total = round(all_units * (number + done / max(total, 1)) / count), all_units
        listener(stage, done, total)


@contextmanager
def part(number: int, count: int, total: int) -> Iterator[None]:
    """Count reports of the block, in this thread and its asyncio tasks, as one of `count` equal parts."""
    token = _part.set((number, count, total) if count > 1 else None)
    try:
        yield
    finally:
        _part.reset(token)


def note(text: str) -> None:
    """Tell the listener, if any, about a wait of the running step; an empty text ends the wait."""
    listener = _note_listener.get()
    if listener is not None:
        listener(text)


@contextmanager
def listening(listener: Listener, on_note: NoteListener | None = None) -> Iterator[None]:
    """Send reports and notes made inside the block, in this thread and its asyncio tasks, to further listeners."""
    token = _listener.set(_both(_listener.get(), listener))
    note_token = _note_listener.set(_both(_note_listener.get(), on_note))
    try:
        yield
    finally:
        _listener.reset(token)
        _note_listener.reset(note_token)


def _both(*listeners: Callable[..., None] | None) -> Callable[..., None]:
    def tell(*said: object) -> None:
        for one in filter(None, listeners):
            one(*said)

    return tell
