"""The cache folder of one process and the bucket that it mirrors; `storage.files.bucket` is its outside.

Records are the small JSON files that change: pointers, current versions, accepted versions, manifests. They lie below
`records/` in the bucket, so that one listing shows them all; each is replaced on condition that it is still the one
that was read. All other files never change: tables, graph, arrays. They are uploaded before the records that name them,
and fetched when they are needed.

A file that is in the bucket as it is, is read-only in the cache; all that can be written is still to be uploaded.
"""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, TypeVar

from lightrag_dagster.core.objects import Objects, Stored, Tag
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.files.cache import HELD, evict, is_held
from lightrag_dagster.storage.locks.base import Lock, require_held

RECORDS = "records"
"""Folder of the records in the bucket."""

DATA = ("tables", "generations")
"""Folders of the other files."""

POINTERS = ("CURRENT", "NEWEST", "HELD", "pins.json", "FORMAT")
"""Records of the home itself."""

_PATTERNS = ("generations/gen-*/*.json", "tables/*/*/*.json", "accepted/*.json")
_OF_SOURCES = ("tables/", "accepted/")
_OF_RECORDS = (*_OF_SOURCES, "generations/")
OF_THIS_HOME = ("views.duckdb", "views.json")
"""Files of each generation of a home on disk that name absolute paths."""

_TAGS = ".tags.json"
_AT_ONCE = 16

# What the cache grows by between two looks at all of its files, and what is removed beyond what has to be. Share.
_STEP = 0.05

Item = TypeVar("Item")
Result = TypeVar("Result")


class Mirror:
    """The bucket and cache folder of one home in this process; threads share it."""

    def __init__(self, uri: str, root: Path) -> None:
        self.objects = Objects.open(uri)
        self.root = root
        self.busy = threading.RLock()
        self.writers = 0
        self._counting = threading.Lock()
        self._room = 0.0
        self.tags: dict[str, Tag] = {}
        with suppress(OSError, ValueError):
            self.tags = json.loads((root / _TAGS).read_bytes())

    def pull(self) -> None:
        """Make the records those of the bucket; while this process writes, only what other ingestions wrote."""
        listed = {key.removeprefix(f"{RECORDS}/"): one for key, one in self.objects.list(RECORDS).items()}
        changed = [name for name, one in listed.items() if self.is_of_others(name) and not self._is_same(name, one)]
        self.get_records(changed)
        for path in self.records():
            name = self.name(path)
            if name not in listed and self.is_of_others(name):
                self._forget(name)
        if not self.writers:
            self._remove_leftovers()
        self.save_tags()

    def get_records(self, names: Iterable[str]) -> None:
        """Fetch records; those that are not in the bucket are removed."""
        for name, found in each(lambda name: (name, self.objects.get(f"{RECORDS}/{name}")), names):
            if found is None:
                self._forget(name)
            else:
                content, self.tags[name] = found
                with atomic.replacing(self.root / name) as temporary:
                    temporary.write_bytes(content)
                    temporary.chmod(HELD)

    def push(self, lock: Lock | None) -> None:
        """Upload what this process wrote: first the data, then the records, CURRENT last."""
        with ExitStack() as opened:
            # What the records say now is uploaded below, even if another thread writes meanwhile.
            paths = [path for path in self.records() if not is_held(path)]
            written = {self.name(path): opened.enter_context(path.open("rb")) for path in paths}
            contents = {name: file.read() for name, file in written.items()}
            self._upload_data(lock)
            for _, names in groupby(sorted(written, key=rank), rank):
                each(lambda name: self._replace(name, contents[name], written[name]), names)
        gone = [name for name in self.tags if not (self.root / name).exists()]
        self.objects.delete([f"{RECORDS}/{name}" for name in gone])
        for name in gone:
            del self.tags[name]
        self.save_tags()

    def records(self) -> list[Path]:
        """Return the records in the cache."""
        pointers = [path for name in POINTERS if (path := self.root / name).exists()]
        return pointers + [path for pattern in _PATTERNS for path in self.root.glob(pattern) if path.name[0] != "."]

    def name(self, path: Path) -> str:
        """Return the name of a path below the home."""
        return path.relative_to(self.root).as_posix()

    def fetch(self, path: Path) -> None:
        """Fetch a data file; without one in the bucket there is none in the cache."""
        with atomic.replacing(path) as temporary:
            if self.objects.download(self.name(path), temporary):
                temporary.chmod(HELD)
                self._count(temporary)
                return
        path.unlink()

    def upload(self, path: Path) -> None:
        """Upload a data file; one that was in the bucket already, only if it is gone, as garbage of another process."""
        if is_held(path) and self.objects.head(self.name(path)):
            return
        self.objects.upload(self.name(path), path, create=self._is_named_by_content(path))
        path.chmod(HELD)
        self._count(path)

    def keep_within(self, limit: float) -> None:
        """Remove what was not used for longest from the cache, if since the last look it may have passed `limit` bytes.

        Where files that are in use take more, it is looked at again when it has grown by a step.
        """
        with self._counting:
            if self._room < 0:
                left = evict(self.root, DATA, (1 - _STEP) * limit)
                self._room = max(limit - left, _STEP * limit)

    def _count(self, path: Path) -> None:
        with self._counting:
            self._room -= path.stat().st_size

    def _is_named_by_content(self, path: Path) -> bool:
        return path.is_relative_to(self.root / "tables")

    def _is_same(self, name: str, listed: Stored) -> bool:
        return is_held(self.root / name) and self.tags.get(name, {}).get("e_tag") == listed.e_tag

    def is_of_others(self, name: str) -> bool:
        """Say whether a record may be taken over: any, and while this process writes, those of other ingestions."""
        if not self.writers:
            return True
        path = self.root / name
        return name.startswith(_OF_SOURCES) and (is_held(path) or not (path.exists() or name in self.tags))

    def _forget(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)
        self.tags.pop(name, None)

    def _remove_leftovers(self) -> None:
        """Remove what killed processes left of generations, and generations that are gone from the bucket."""
        for folder in self.root.glob("generations/gen-*"):
            if not (folder / "generation.json").exists():
                shutil.rmtree(folder)
        for path in self._data():
            if path.is_relative_to(self.root / "generations"):
                path.unlink()

    def _data(self) -> list[Path]:
        """Return the data files that are still to be uploaded."""
        found = [path for folder in DATA for path in (self.root / folder).rglob("*")]
        return [path for path in found if path.is_file() and not self._is_left_out(path) and not is_held(path)]

    def _is_left_out(self, path: Path) -> bool:
        hidden = any(part.startswith(".") for part in path.relative_to(self.root).parts)
        return hidden or path.suffix == ".json" or path.name in OF_THIS_HOME

    def _upload_data(self, lock: Lock | None) -> None:
        data = self._data()
        if not all(map(self._is_named_by_content, data)):
            require_held(lock)
        each(self.upload, data)

    def _replace(self, name: str, content: bytes, file: BinaryIO) -> None:
        tag = self.objects.replace(f"{RECORDS}/{name}", content, self.tags.get(name))
        if tag is None:
            what = "another ingestion wrote" if name.startswith(_OF_SOURCES) else "another builder published"
            raise StoreError(
                f"{what} in {self.objects.name} meanwhile and replaced {name}, which stays as it is; run again"
            )
        self.tags[name] = tag
        with suppress(FileNotFoundError):
            path = self.root / name
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                path.chmod(HELD)

    def save_tags(self) -> None:
        """Note the states of the records, for the next process that uses the folder."""
        atomic.write_text(self.root / _TAGS, json.dumps(self.tags))


def is_record(name: str) -> bool:
    """Say whether a file is a record, by its path below the home."""
    return name in POINTERS or (name.startswith(_OF_RECORDS) and name.endswith(".json"))


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call a function for every item, some at a time."""
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="lightrag-bucket") as threads:
        return list(threads.map(function, items))


def rank(name: str) -> int:
    """Return when a record is written: after those that it leads to, and FORMAT when all are of that format."""
    return ("generations", "tables", "accepted", "pins.json", "NEWEST", "HELD", "CURRENT", "FORMAT").index(
        name.split("/")[0]
    )
