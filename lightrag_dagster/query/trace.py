"""What each step of a question found, kept and cut, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lightrag_dagster.query.types import Step


class Trace:
    """Collects the steps of one question."""

    def __init__(self, *, explain: bool) -> None:
        """With `explain`, steps note every item; without, numbers and times alone."""
        self.explain = explain
        self._steps: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a block, which notes what it did in the dictionary, ready for JSON."""
        notes: dict[str, Any] = {}
        started = time.perf_counter()
        yield notes
        self._steps.append(Step(name, (time.perf_counter() - started) * 1000, notes))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that ended, in order."""
        return tuple(self._steps)
