"""Calls that are in flight: an identical one waits for the first, and then finds its answer in the store."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from filelock import lock_descriptor

from lightrag_dagster.errors import StoreError

_POLL_SECONDS = 0.05


class InFlight:
    """One lock a key, for as long as somebody holds or awaits it.

    Given a folder, it holds among all processes that share the folder, and a process that dies lets go of its keys.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def claim(self, key: str) -> AsyncIterator[None]:
        """Hold a key, fit for a file's name, for the block; waits for whoever holds it.

        Raises:
            StoreError: the folder cannot be written.
        """
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            if self._folder is None:
                yield
                return
            path = self._folder / key
            descriptor = await _locked(path)
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
                os.close(descriptor)


async def _locked(path: Path) -> int:
    """Return an open descriptor of the file, which holds its lock."""
    try:
        while True:
            descriptor = _opened(path)
            if _is_locked(descriptor):
                return descriptor
            os.close(descriptor)
            await asyncio.sleep(_POLL_SECONDS)
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}; make the home writable") from error


def _is_locked(descriptor: int) -> bool:
    """Try to lock an open file; whoever held it before may have removed it, and such a lock keeps nobody out."""
    return lock_descriptor(descriptor, blocking=False) and os.fstat(descriptor).st_nlink > 0


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT)
