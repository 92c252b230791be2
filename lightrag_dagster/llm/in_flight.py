"""Calls that are in flight: an identical one waits for the first, and then finds its answer in the store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from filelock import FileLock, Timeout

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
            file = await _lock_file(self._folder / key)
            try:
                yield
            finally:
                # Removed while it is held: whoever opened it before sees that it is gone, and tries again.
                Path(file.lock_file).unlink(missing_ok=True)
                file.release()


async def _lock_file(path: Path) -> FileLock:
    file = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                file.acquire(timeout=0)
            except Timeout:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                return file
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}; make the home writable") from error
