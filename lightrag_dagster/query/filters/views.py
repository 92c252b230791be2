"""A cache of filtered views of a snapshot, each made once and kept while it is among the last used."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.snapshot import Snapshot

_KEPT = 8
"""Number of filters whose view is kept."""


@dataclass
class _Entry:
    making: Lock = field(default_factory=Lock)
    view: Snapshot | None = None
    users: int = 0


class Views:
    """A cache of views by filter; threads may share it. A view is closed when it is dropped and no longer used."""

    def __init__(self, make: Callable[[Filters], Snapshot]) -> None:
        """Keep the function that makes a view; it may raise, and is called again for the next question then."""
        self._make = make
        self._entries: OrderedDict[Filters, _Entry] = OrderedDict()
        self._changing = Lock()

    @contextmanager
    def view(self, filters: Filters) -> Iterator[Snapshot]:
        """Yield the view of a filter for the block; the first caller makes it, others with the same filter wait."""
        with self._changing:
            entry = self._entries.setdefault(filters, _Entry())
            self._entries.move_to_end(filters)
            entry.users += 1
            self._drop(len(self._entries) - _KEPT)
        try:
            with entry.making:
                if entry.view is None:
                    entry.view = self._make(filters)
                view = entry.view
            yield view
        finally:
            with self._changing:
                entry.users -= 1
                if entry.view is None and self._entries.get(filters) is entry:
                    del self._entries[filters]
                self._close_unused(filters, entry)

    def close(self) -> None:
        """Drop all views; those in use are closed when their questions end."""
        with self._changing:
            self._drop(len(self._entries))

    def _drop(self, number: int) -> None:
        for _ in range(number):
            filters, entry = self._entries.popitem(last=False)
            self._close_unused(filters, entry)

    def _close_unused(self, filters: Filters, entry: _Entry) -> None:
        if entry.view is not None and not entry.users and self._entries.get(filters) is not entry:
            entry.view.close()
