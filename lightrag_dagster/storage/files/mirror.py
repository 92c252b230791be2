"""The cache folder of one process and the bucket that it mirrors: the files that never change, and how they move.

Tables, graphs and arrays are uploaded before the records that name them, of which `session` takes care, and fetched
when they are needed. Everything in the folder of which `notes` do not say that the bucket holds it is to be uploaded.
"""

import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from lightrag_dagster.core.holding import Once
from lightrag_dagster.core.objects import Objects, Stored
from lightrag_dagster.storage.files import atomic, packed
from lightrag_dagster.storage.files.cache import evict, note_use
from lightrag_dagster.storage.files.notes import Note, Notes, is_named_by_content
from lightrag_dagster.storage.locks.base import Lock, require_held

DATA = ("tables", "generations")
"""Folders of the data files, as opposed to records."""

OF_THIS_HOME = ("views.duckdb", "views.json")
"""Files of each generation of a home on disk that name absolute paths."""

_AT_ONCE = 32

# What the cache grows by between two looks at all of its files, and what is removed beyond what has to be. Share.
_STEP = 0.05

Item = TypeVar("Item")
Result = TypeVar("Result")


class _LackingError(Exception):
    """A file that the bucket has not, so that nothing takes its place."""


class Mirror:
    """The bucket and cache folder of one home in this process; threads share it."""

    def __init__(self, uri: str, root: Path) -> None:
        self.objects = Objects.open(uri)
        self.root = root
        self.notes = Notes(root)
        self.listed: dict[Path, dict[Path, int]] = {}
        """Folders that were opened, and the bytes of their files in the bucket; a session begins with none."""

        self._counting = threading.Lock()
        self._room = 0.0

    def name(self, path: Path) -> str:
        """Return the name of a path below the home."""
        return path.relative_to(self.root).as_posix()

    def held(self, paths: Iterable[Path]) -> set[Path]:
        """Return those files that are in the cache, and in the bucket as they are."""
        return {self.root / name for name in self.notes.held(map(self.name, paths))}

    def open(self, paths: Sequence[Path], limit: float) -> None:
        """Fetch the data files that the cache lacks, and keep it within a limit of bytes."""
        for path in paths:
            note_use(path)
        missing = [path for path in paths if not path.exists()]
        if missing:
            each(self._fetch, missing)
            self._keep_within(limit)

    def open_folder(self, folder: Path, limit: float, *, in_session: bool) -> None:
        """Fetch the data files of a folder that the cache lacks, or has from before they were repaired.

        In a session, the folder is listed once.
        """
        found = self.listed.get(folder) if in_session else None
        if found is None:
            found = {path: one.size for path, one in self.list_folder(folder).items()}
            held = self.notes.held(map(self.name, found))
            for path, size in found.items():
                if held.get(self.name(path), size) != size:
                    path.unlink(missing_ok=True)
            if in_session:
                self.listed[folder] = found
        self.open(list(found), limit)

    def drop(self, sizes: Mapping[Path, int]) -> None:
        """Remove the files from the cache that have not these sizes, as they were before they were repaired."""
        for path in self.held(path for path, size in sizes.items() if path.exists() and path.stat().st_size != size):
            path.unlink(missing_ok=True)

    def list_folder(self, folder: Path) -> dict[Path, Stored]:
        """Return the files of the bucket below a folder, except records, by the path that they have in the cache."""
        return {self.root / packed.name_of(key): one for key, one in self.objects.list(self.name(folder)).items()}

    def upload(self, paths: Sequence[Path]) -> None:
        """Upload data files; of those that were in the bucket already, only what is gone, as garbage of a process."""
        held = self.held(paths)
        each(lambda path: self._upload(path, is_held=path in held), paths)

    def upload_new(self, lock: Lock | None) -> None:
        """Upload the data files that the bucket lacks, if the builder's lock is held where their names may come again.

        Raises:
            BuilderLockedError: the lock was lost.
            StoreError: the bucket refuses.
        """
        new = self._not_held(*DATA)
        if not all(is_named_by_content(self.name(path)) for path in new):
            require_held(lock)
        each(lambda path: self._upload(path, is_held=False), new)

    def remove(self, paths: Sequence[Path]) -> None:
        """Remove data files from the bucket."""
        names = [self.name(path) for path in paths]
        self.objects.delete(list(map(packed.key_of, names)))
        self.notes.forget(names)
        self.listed.clear()

    def remove_folder(self, folder: Path) -> None:
        """Remove the data files of a folder from the bucket; none counts as held there, also if it was lost before."""
        self.remove(list(self.list_folder(folder)))
        self.notes.forget_below(self.name(folder))

    def remove_leftovers(self) -> None:
        """Remove what killed processes left of generations, and generations that are gone from the bucket."""
        for folder in self.root.glob("generations/gen-*"):
            if not (folder / "generation.json").exists():
                shutil.rmtree(folder)
                self.notes.forget_below(self.name(folder))
        for path in self._not_held("generations"):
            path.unlink()

    def _fetch(self, path: Path) -> None:
        """Fetch a data file; without one in the bucket there is none in the cache, at no time."""
        with suppress(_LackingError), atomic.replacing(path) as temporary:
            stored = packed.download(self.objects, self.name(path), temporary)
            if stored is None:
                raise _LackingError
            self._note(path, temporary, stored)  # before another thread takes it for a leftover

    def _upload(self, path: Path, *, is_held: bool) -> None:
        name = self.name(path)
        if not (is_held and self.objects.head(packed.key_of(name))):
            stored = packed.upload(self.objects, name, path, create=is_named_by_content(name))
            self._note(path, path, stored)

    def _note(self, path: Path, content: Path, stored: int) -> None:
        with content.open("rb") as file:
            note = Note.of(self.name(path), file, stored=stored)
            self.notes.add({self.name(path): note})
            with self._counting:
                self._room -= note.size
        for folder in path.parents:
            if (known := self.listed.get(folder)) is not None:
                known[path] = stored

    def _keep_within(self, limit: float) -> None:
        """Remove what was not used for longest from the cache, if since the last look it may have passed `limit` bytes.

        If files that are in use take more, it looks again when the cache has grown by a step.
        """
        with self._counting:
            if self._room < 0:
                left = evict(self.root, DATA, (1 - _STEP) * limit, self.notes)
                self._room = max(limit - left, _STEP * limit)

    def _not_held(self, *folders: str) -> list[Path]:
        """Return the data files of folders that are still to be uploaded."""
        paths = [path for folder in folders for path in (self.root / folder).rglob("*")]
        found = [path for path in paths if path.is_file() and not self._is_left_out(path)]
        held = self.held(found)
        return [path for path in found if path not in held]

    def _is_left_out(self, path: Path) -> bool:
        hidden = any(part.startswith(".") for part in path.relative_to(self.root).parts)
        return hidden or path.suffix == ".json" or path.name in OF_THIS_HOME


@Once
def mirror_of(uri: str, root: Path) -> Mirror:
    """Return what the threads of this process share of a bucket and a folder of its cache."""
    return Mirror(uri, root)


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call a function for every item, some at a time."""
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="lightrag-bucket") as threads:
        return list(threads.map(function, items))
