"""The lines of JSON by which a program is asked and answers, and the cost of one piece of its work.

No more than Python's own library is needed: LightRAG's environment has nothing of this project.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Channel:
    """The standard input and output; what libraries print goes to standard error instead."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def read(self) -> dict[str, Any] | None:
        """Return the next request; None after the last."""
        line = sys.stdin.readline()
        return json.loads(line) if line else None

    def write(self, answer: object) -> None:
        """Send the answer to the last request."""
        print(json.dumps(answer), file=self._answers, flush=True)


@contextmanager
def measured() -> Iterator[dict[str, float]]:
    """Measure the block in this process: `wall` and `cpu` in seconds, and `written` in bytes."""
    cost: dict[str, float] = {}
    before = _now()
    yield cost
    cost |= {name: value - before[name] for name, value in _now().items()}


@contextmanager
def milliseconds(times: list[float]) -> Iterator[None]:
    """Add the milliseconds that the block takes."""
    started = time.perf_counter()
    yield
    times.append((time.perf_counter() - started) * 1000)


def _now() -> dict[str, float]:
    io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return {"wall": time.perf_counter(), "cpu": time.process_time(), "written": int(io["wchar"])}
