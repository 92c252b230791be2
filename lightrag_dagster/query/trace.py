"""What each step of a question found, kept and cut, and how long it took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lightrag_dagster.query.search import Hits
from lightrag_dagster.query.types import Step

_MOST_ITEMS = 100


class Trace:
    """Collects the steps of one question."""

    def __init__(self, *, explain: bool) -> None:
        """With `explain`, steps note items, each with its score; without, numbers and times alone."""
        self._explain = explain
        self._steps: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a block, which notes what it did in the dictionary, ready for JSON."""
        notes: dict[str, Any] = {}
        started = time.perf_counter()
        yield notes
        self._steps.append(Step(name, (time.perf_counter() - started) * 1000, notes))

    def kept(self, hits: Hits, kept: int, names: Callable[[Hits], list[str]]) -> dict[str, Any]:
        """Return notes on hits of which the first `kept` stay; `names` reads how people call them."""
        notes: dict[str, Any] = {"kept": kept, "cut": len(hits) - kept}
        if self._explain:
            first = dict(list(hits.items())[:_MOST_ITEMS])
            notes["items"] = [
                {"name": name, "score": score, "kept": place < kept}
                for place, (name, score) in enumerate(zip(names(first), first.values(), strict=True))
            ]
        return notes

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that ended, in order."""
        return tuple(self._steps)
