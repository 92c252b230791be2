"""The notes of a cache folder: which of its files the bucket holds as they are, and the tags of its records.

A file that is named by its content is held if it has the size that was noted. Every other one is if it is the very file
that was noted, or, as in a copy of the cache, has its content. Modes do not count.

The notes are lines of JSON in a file to which processes append: those that work in the folder of the process that
started them share its notes. If notes are lost, files are uploaded or fetched once more.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.objects import Tag
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files.atomic import write_text

NOTES = ".held.jsonl"

# The process that begins to use the folder rewrites a file of more bytes, without notes that are out of date.
_LARGE = 16 << 20


class Note(NamedTuple):
    """The state of a file: its size in bytes, what tells it from others, a hash of its content, and a record's tag.

    Without `file`, its name tells what it holds. Without `sha256`, a copy of it is another file. `stored` are its bytes
    in the bucket, where it may be compressed; without it, they are as many.
    """

    size: int
    file: str | None
    sha256: str | None
    tag: Tag | None
    stored: int | None = None

    @classmethod
    def of(cls, name: str, file: BufferedReader, tag: Tag | None = None, stored: int | None = None) -> "Note":
        """Return the note on an open file."""
        facts = os.fstat(file.fileno())
        if is_named_by_content(name):
            return cls(facts.st_size, None, None, None, stored)
        # What the steps of a merge hand on is large, and does not outlive the process.
        return cls(facts.st_size, _name_of(facts), None if name.startswith("scratch/") else _hash_of(file), tag, stored)

    def seen_in(self, path: str) -> "Note | None":
        """Return the note with what tells the file at a path from others, if that is in this state."""
        with suppress(FileNotFoundError):
            facts = os.stat(path)  # noqa: PTH116 - of a string, since there are many
            if facts.st_size == self.size and self.file in (None, _name_of(facts)):
                return self
            if facts.st_size == self.size and self.sha256 is not None:
                with Path(path).open("rb") as file:
                    return self._replace(file=_name_of(facts)) if _hash_of(file) == self.sha256 else None
        return None


class Notes:
    """The notes of one cache folder; threads and processes may share it. Every method raises StoreError."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / NOTES
        self._busy = threading.Lock()
        self._known: dict[str, Note] = {}
        self._inode, self._end = 0, 0

    def held(self, names: Iterable[str]) -> dict[str, int]:
        """Return those files that are there, and in the bucket as they are: name below the folder → bytes there."""
        noted = self._read()
        found = {name: note for name in names if (note := noted.get(name))}  # other threads follow the file meanwhile
        seen = {name: note for name, one in found.items() if (note := one.seen_in(f"{self._root}/{name}"))}
        self.add({name: note for name, note in seen.items() if note != found[name]})  # a copy is compared once
        return {name: note.size if note.stored is None else note.stored for name, note in seen.items()}

    def tags(self, names: Iterable[str]) -> dict[str, Tag]:
        """Return the tags of those records that are noted, also where they are written and not uploaded."""
        noted = self._read()
        return {name: note.tag for name in names if (note := noted.get(name)) and note.tag}

    def records(self) -> list[str]:
        """Return all records that are noted, also where they are removed, and not yet from the bucket."""
        return [name for name, note in list(self._read().items()) if note.tag]

    def add(self, notes: Mapping[str, Note] | Mapping[str, None]) -> None:
        """Note that the bucket holds files, by name; None forgets one."""
        if notes:
            self._read()  # which makes the file
            with self._explained(), self._path.open("ab", buffering=0) as file:
                file.write(f"\n{_lines(notes)}".encode())  # a killed process may have left a part of a line

    def forget(self, names: Iterable[str]) -> None:
        """Remove the notes on files that are gone."""
        noted = self._read()
        self.add({name: None for name in names if name in noted})

    def forget_below(self, folder: str) -> None:
        """Remove the notes on all files of a folder except records, also on those that are gone already."""
        noted = list(self._read().items())
        self.add({name: None for name, note in noted if name.startswith(f"{folder}/") and not note.tag})

    def tidy(self) -> None:
        """Write a large file of notes afresh; call it while no other process uses the folder."""
        with self._explained():
            if self._path.exists() and self._path.stat().st_size > _LARGE:
                noted = {name: note for name, note in self._read().items() if (self._root / name).exists()}
                write_text(self._path, _lines(noted))

    def _read(self) -> Mapping[str, Note]:
        """Return what is noted, also by other processes since this one has looked."""
        with self._busy, self._explained():
            if not self._path.exists():
                self._root.mkdir(parents=True, exist_ok=True)
                self._path.touch()
            facts = self._path.stat()
            if facts.st_ino != self._inode or facts.st_size < self._end:
                self._known, self._inode, self._end = {}, facts.st_ino, 0
            if facts.st_size > self._end:
                self._follow()
            return self._known

    def _follow(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # it is being written
                self._end += len(line)
                with suppress(ValueError, TypeError):  # an empty line, or a part of one
                    name, note = json.loads(line)
                    if note is None:
                        self._known.pop(name, None)
                    else:
                        self._known[name] = Note(*note)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self._path} cannot be used: {error.strerror or error}; make it writable") from error


def is_named_by_content(name: str) -> bool:
    """Say whether all files of a name are the same, as those of a table version are."""
    return name.startswith("tables/") and not name.endswith(".json")


def _lines(notes: Mapping[str, Note] | Mapping[str, None]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in notes.items())


def _hash_of(file: BufferedReader) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _name_of(facts: os.stat_result) -> str:
    # The time alone is not enough: within a tick of the system's clock a file may be written twice.
    return f"{facts.st_ino} {facts.st_mtime_ns}"
