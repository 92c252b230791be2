"""The records of a home in a bucket: readers take them over, and a writer's session uploads what it wrote.

Records are the small JSON files that change: pointers, current versions, accepted versions, manifests. They lie below
`records/` in the bucket, so that one listing shows them all; each is replaced on condition that it is still the one
that was read.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from itertools import groupby
from pathlib import Path

from lightrag_dagster.core.holding import Once
from lightrag_dagster.core.objects import Tag
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.files.mirror import Mirror, each
from lightrag_dagster.storage.files.notes import Note
from lightrag_dagster.storage.locks.base import Lock

RECORDS = "records"

_ABOUT = ("scopes.json", "pins.json", "purging.json", "collected.json", "exports.json")
POINTERS = (*_ABOUT, "NEWEST", "HELD", "PUBLISHED", "FORMAT")
"""Records of the home itself, in the order in which they are written."""

_RANKS = ("generations", "tables", "accepted", *POINTERS)
_PATTERNS = ("generations/gen-*/*.json", "tables/*/*/*.json", "accepted/*.json")
_OF_SOURCES = ("tables/", "accepted/")
_OF_RECORDS = (*_OF_SOURCES, "generations/")


class BucketRecords:
    """The records of one bucket in the cache folder of this process; `sessions` has the lock of each session."""

    def __init__(self, mirror: Mirror) -> None:
        self.sessions: list[Lock | None] = []
        self._busy = threading.RLock()
        self._mirror = mirror
        self._objects, self._notes, self._root = mirror.objects, mirror.notes, mirror.root

    @contextmanager
    def writing(self, lock: Lock | None) -> Iterator[None]:
        """Hold a session of a writer, as `Files.session` says."""
        with self._busy:
            if lock is None or lock not in self.sessions:  # else the session that took the lock has refreshed them
                self._pull()
                self._mirror.listed.clear()
            self.sessions.append(lock)
        try:
            try:
                yield
            except BaseException:
                with suppress(StoreError):
                    self.push(lock)
                raise
            try:
                self.push(lock)
            except StoreError:  # a later session of this process would store it, after the caller took it for lost
                self.push(lock)
        finally:
            with self._busy:
                self.sessions.remove(lock)

    def push(self, lock: Lock | None) -> None:
        """Upload what was written so far in a session; raises as `Files.session`."""
        with self._busy:
            # Outside a session there may be what a killed process left, which must not be published.
            if self.sessions:
                self._push(lock)

    def refresh(self, paths: Sequence[Path] | None) -> None:
        """Make records those of the bucket, as `Files.refresh` says; raises StoreError."""
        with self._busy:
            if paths is not None:
                self._fetch(self._of_others(map(self._mirror.name, paths)))
            elif not self.sessions:
                self._pull()

    def _pull(self) -> None:
        """Make the records those of the bucket; while this process writes, only what other ingestions wrote."""
        listed = {key.removeprefix(f"{RECORDS}/"): one for key, one in self._objects.list(RECORDS).items()}
        names = self._of_others({*listed, *self._names()})
        held, tags = self._notes.held(names), self._notes.tags(names)

        def is_same(name: str) -> bool:
            return name in held and tags.get(name, {}).get("e_tag") == listed[name].e_tag

        self._fetch([name for name in names if name in listed and not is_same(name)])
        self._forget([name for name in names if name not in listed])
        if not self.sessions:
            self._mirror.remove_leftovers()

    def _push(self, lock: Lock | None) -> None:
        """Upload what this process wrote: first the data, then the records, PUBLISHED last."""
        with ExitStack() as opened:
            # What the records say now is uploaded below, even if another thread writes meanwhile.
            names = self._names()
            changed = set(names) - self._notes.held(names).keys()
            written = dict[str, BufferedReader]()
            for name in changed:
                with suppress(FileNotFoundError):  # another thread has removed it since
                    written[name] = opened.enter_context((self._root / name).open("rb"))
            contents = {name: file.read() for name, file in written.items()}
            self._mirror.upload_new(lock)
            tags = self._notes.tags(written)
            for _, alike in groupby(sorted(written, key=rank), rank):
                each(lambda name: self._replace(name, contents[name], written[name], tags.get(name)), alike)
        gone = [name for name in self._notes.records() if not (self._root / name).exists()]
        self._objects.delete([f"{RECORDS}/{name}" for name in gone])
        self._notes.forget(gone)

    def _names(self) -> list[str]:
        """Return the records in the cache folder."""
        pointers = [name for name in POINTERS if (self._root / name).exists()]
        found = (path for pattern in _PATTERNS for path in self._root.glob(pattern))
        return pointers + [self._mirror.name(path) for path in found if path.name[0] != "."]

    def _of_others(self, names: Iterable[str]) -> list[str]:
        """Return the records that may be taken over: all, and while this process writes, those of other ingestions."""
        if not self.sessions:
            return list(names)
        names = [name for name in names if name.startswith(_OF_SOURCES)]
        held, tags = self._notes.held(names), self._notes.tags(names)
        return [name for name in names if name in held or not (name in tags or (self._root / name).exists())]

    def _fetch(self, names: Iterable[str]) -> None:
        """Fetch records; those that are not in the bucket are removed."""
        found = each(lambda name: (name, self._objects.get(f"{RECORDS}/{name}")), names)
        self._forget([name for name, one in found if one is None])
        notes = {}
        for name, one in found:
            if one is not None:
                with atomic.replacing(self._root / name) as temporary:
                    temporary.write_bytes(one[0])
                with (self._root / name).open("rb") as file:
                    notes[name] = Note.of(name, file, one[1])
        self._notes.add(notes)

    def _replace(self, name: str, content: bytes, file: BufferedReader, before: Tag | None) -> None:
        tag = self._objects.replace(f"{RECORDS}/{name}", content, before)
        if tag is None:
            what = "another ingestion wrote" if name.startswith(_OF_SOURCES) else "another builder published"
            raise StoreError(
                f"{what} in {self._objects.name} meanwhile and replaced {name}, which stays as it is; run again"
            )
        self._notes.add({name: Note.of(name, file, tag)})

    def _forget(self, names: Sequence[str]) -> None:
        for name in names:
            (self._root / name).unlink(missing_ok=True)
        self._notes.forget(names)


@Once
def records_of(mirror: Mirror) -> BucketRecords:
    """Return what the threads of this process share of the records of a bucket."""
    return BucketRecords(mirror)


def is_record(name: str) -> bool:
    """Say whether a file is a record, by its path below the home."""
    return name in POINTERS or (name.startswith(_OF_RECORDS) and name.endswith(".json"))


def rank(name: str) -> int:
    """Return when a record is written: after those that it leads to, and FORMAT when all are of that format."""
    return _RANKS.index(name.split("/")[0])
