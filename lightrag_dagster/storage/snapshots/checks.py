"""Checks of the files of a snapshot when they are loaded: no answer comes from one with another hash than published."""

import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Self

from lightrag_dagster.core.background import DaemonThreads
from lightrag_dagster.errors import LightRAGError, StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import BuiltGraph, FileSum, PublishedFiles
from lightrag_dagster.storage.records import read_record
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, MANIFEST, Generation
from lightrag_dagster.storage.snapshots.verify import FILES, OTHER_CONTENT, Damage, reason_of

AT_ONCE = 64 << 20
"""Most bytes that are read at once, in 0.05 s; larger files are read by a thread beside the caller."""

_SECONDS_BETWEEN_LOOKS = 60.0
_UNKNOWN = FileSum(size=0, sha256="")


class FileChecks:
    """The hashes of a snapshot's files, and the files that were loaded; threads may share it."""

    def __init__(self, home: Home, snapshot_id: str, *, beside: bool) -> None:
        """Read what was published; `beside` lets a thread check large files. Raises StoreError if that is damaged."""
        self._beside = beside
        self._home, record = home, home.generation(snapshot_id) / FILES
        home.files.refresh([record])
        found = read_record(record, PublishedFiles)
        self._files = found.files if found else {}
        self._damage = None if found else Damage(record, "is missing")
        self._checking, self._loaded = Lock(), set[str]()
        self._thread = DaemonThreads(1, "lightrag-checks")
        self._later = dict[str, Future[None]]()
        self._closed, self._looked = False, -_SECONDS_BETWEEN_LOOKS
        self.require_sound()

    def require_folder(self, folder: Path) -> None:
        """Check what is below a folder of a generation, without tables, or of LanceDB; else as `require`."""
        self._require(self._opened(f"{self._name(folder)}/"))

    def require(self, paths: Iterable[Path]) -> None:
        """Check files that are loaded for the first time, now; more than AT_ONCE in a thread, if there may be one.

        Raises:
            StoreError: one of them is damaged, or one that was loaded before; or it cannot be read.
        """
        self._require(map(self._name, paths))

    def _require(self, names: Iterable[str]) -> None:
        with self._checking:
            new = {name: self._published(name).size for name in names if name not in self._loaded}
            left = AT_ONCE if self._beside else sys.maxsize
            for name in sorted(new, key=new.__getitem__):
                left -= new[name]
                if left >= 0:
                    self._check(name)
                else:
                    self._later[name] = self._thread.submit(self._check_beside, name)
            self._loaded |= new.keys()
        self.require_sound()

    def require_sound(self) -> None:
        """Raise StoreError if a damaged file was found."""
        if self._damage:
            again = "open the knowledge base again, which fetches it, or " if self._home.bucket else ""
            raise StoreError(f"{self._damage}; {again}run `lightrag-dagster run --verify`")

    def wait(self, timeout: float | None = None) -> None:
        """Wait until every file that was loaded is checked; raises StoreError, and TimeoutError after some seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for one in list(self._later.values()):
            one.result(None if end is None else max(0.0, end - time.monotonic()))
        self.require_sound()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Run the block if no loaded file is damaged, and find out whether damage is why another's error is raised.

        Raises:
            StoreError: a file is damaged; an error of the block while all are sound is raised as it is.
        """
        self.require_sound()
        try:
            yield
        except Exception as error:
            wrapped = isinstance(error, StoreError) and error.__cause__
            if wrapped or not isinstance(error, (LightRAGError, CancelledError, TimeoutError)):
                self._look_again()
            self.require_sound()
            raise
        self.require_sound()

    def close(self) -> None:
        """End the thread once it has read its file, of which nothing is said any more."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look_again(self) -> None:
        """Check all that was loaded or opened, but not often: an error of our own may come with each question."""
        with self._checking:
            if time.monotonic() - self._looked >= _SECONDS_BETWEEN_LOOKS:
                for name in self._loaded.union(self._opened("")):
                    self._check(name)
                self._looked = time.monotonic()

    def _opened(self, below: str) -> list[str]:
        """Return the files that opening a snapshot loads, or that LanceDB reads, below a name."""
        names = (name for name, one in self._files.items() if name.startswith(below) and one.sha256)
        # A manifest has its own checksum, since it is written again when an old snapshot is published again.
        return [name for name in names if not name.endswith((".parquet", MANIFEST))]

    def _name(self, path: Path) -> str:
        return str(path).removeprefix(f"{self._home.root}/")  # of thousands of shards with each SQL

    def _published(self, name: str) -> FileSum:
        """Return size and hash of a file; of one that is not listed, those of no file."""
        if name.endswith(f"/{GRAPH}"):
            record = read_record((self._home.root / name).with_name(GRAPH_RECORD), BuiltGraph)
            return record.file if record else _UNKNOWN
        return self._files.get(name, _UNKNOWN)

    def _check_beside(self, name: str) -> None:
        try:
            self._check(name)
        except StoreError:
            with self._checking:
                self._loaded.discard(name)  # so that it is checked when it is loaded again
            raise

    def _check(self, name: str) -> None:
        """Note a file that is not as it was published; raises StoreError when the machine refuses."""
        path, reason = self._home.root / name, None
        try:
            if FileSum.of(path).sha256 != self._published(name).sha256:
                reason = OTHER_CONTENT
        except OSError as error:
            if self._home.bucket is None or not isinstance(error, FileNotFoundError):  # a cache may have removed it
                reason = reason_of(path, error)
        if reason and not self._closed:
            self._damage = Damage(path, reason)
            if self._home.bucket:  # where it is whole, perhaps
                path.unlink(missing_ok=True)


@dataclass(frozen=True)
class CheckedGeneration(Generation):
    """A generation whose tables are checked when they are first asked for."""

    checks: FileChecks = field(repr=False, compare=False)

    @classmethod
    def of(cls, home: Home, snapshot_id: str, *, beside: bool = False) -> Self:
        """Return that of a snapshot; raises StoreError if the hashes of its files are missing or damaged.

        With `beside`, a thread checks large files, for those who look again whether all were sound.
        """
        return cls(home, snapshot_id, FileChecks(home, snapshot_id, beside=beside))

    def table_files(self, table: str) -> list[Path]:
        """Return the Parquet files of a table, fetched from a bucket and checked; raises StoreError."""
        paths = super().table_files(table)
        self.checks.require(paths)
        return paths
