"""A count of the processor's time that a Python process spends on imports; Python loads `sitecustomize` first.

It is in force where this folder is in PYTHONPATH: for a command and every process it starts. Each writes its seconds to
a file of its own in the folder that BENCH_IMPORTS names, after every import, since a process may end without notice.
"""

import importlib._bootstrap as bootstrap
import os
import threading
import time
from typing import Any

# Python's own `import` calls it by this name, and so does importlib.
_find_and_load: Any = bootstrap._find_and_load  # type: ignore[attr-defined]


class _Imports:
    """The imports of one process; what an import imports in turn is a part of it."""

    def __init__(self) -> None:
        self._file = os.open(f"{os.environ['BENCH_IMPORTS']}/{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        self._seconds, self._lock, self._thread = 0.0, threading.Lock(), threading.local()

    def load(self, name: str, import_: Any) -> Any:
        """Import a module, and add the time of this thread."""
        if getattr(self._thread, "busy", False):
            return _find_and_load(name, import_)
        self._thread.busy = True
        started = time.thread_time()
        try:
            return _find_and_load(name, import_)
        finally:
            self._thread.busy = False
            with self._lock:
                self._seconds += time.thread_time() - started
                os.pwrite(self._file, f"{self._seconds:.6f}".encode(), 0)


def _count() -> None:
    bootstrap._find_and_load = _Imports().load  # type: ignore[attr-defined]


_count()
os.register_at_fork(after_in_child=_count)
