"""A cache of filtered views of a snapshot, each made once and kept while it is among the last used."""

from collections import OrderedDict
from collections.abc import Callable
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


class Views:
    """A cache of views by filter; threads may share it. A dropped view ends with the last question that holds it."""

    def __init__(self, make: Callable[[Filters], Snapshot]) -> None:
        """Keep the function that makes a view; it may raise, and is called again for the next question then."""
        self._make = make
        self._entries: OrderedDict[Filters, _Entry] = OrderedDict()
        self._changing = Lock()

    def view(self, filters: Filters) -> Snapshot:
        """Return the view of a filter; the first caller makes it, others with the same filter wait."""
        with self._changing:
            entry = self._entries.setdefault(filters, _Entry())
            self._entries.move_to_end(filters)
            if len(self._entries) > _KEPT:
                self._entries.popitem(last=False)
        with entry.making:
            if entry.view is None:
                try:
                    entry.view = self._make(filters)
                except Exception:  # a failed entry must not take the place of a good view
                    with self._changing:
                        self._entries.pop(filters, None)
                    raise
            return entry.view

    def close(self) -> None:
        """Drop all views."""
        with self._changing:
            self._entries.clear()
