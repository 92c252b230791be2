"""The notes of a cache folder: which of its files the bucket holds as they are, and the tags of its records.

A file that is named by its content is held if it has the size that was noted. Every other one is if it is the very file
that was noted, or, as in a copy of the cache, has its content. Modes do not count. All processes that use the folder,
as workers use that of the process which started them, share the notes.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.objects import Tag
from lightrag_dagster.errors import StoreError

NOTES = ".held.sqlite"

READ_ONLY = 0o444
"""Mode of the files that the bucket holds: other processes may link their bytes. Earlier versions had no other note."""

_CREATE = "CREATE TABLE held (name TEXT PRIMARY KEY, size INTEGER, file TEXT, sha256 TEXT, tag TEXT) WITHOUT ROWID"
_TAGS_OF_EARLIER_VERSIONS = ".tags.json"
_WAIT_SECONDS = 60.0


class _Note(NamedTuple):
    """The state of a file: its size in bytes, what tells it from others, a hash of its content, and a record's tag.

    Without `file`, its name tells what it holds. Without `sha256`, a copy of it is another file.
    """

    size: int
    file: str | None
    sha256: str | None
    tag: str | None

    def seen_in(self, path: Path) -> "_Note | None":
        """Return the note with what tells the file at a path from others, if that is in this state."""
        with suppress(FileNotFoundError):
            facts = path.stat()
            if facts.st_size == self.size and self.file in (None, _name_of(facts)):
                return self
            if facts.st_size == self.size and self.sha256 and self.sha256 == _hash_of(path):
                return self._replace(file=_name_of(facts))
        return None


class Notes:
    """The notes of one cache folder; threads and processes may share it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._busy = threading.Lock()

    def held(self, names: Iterable[str]) -> set[str]:
        """Return those files, by their names below the folder, that are there, and in the bucket as they are."""
        noted = self._read(names)
        seen = {name: note for name in noted if (note := noted[name].seen_in(self._root / name))}
        copies = [(note.file, name, note.sha256) for name, note in seen.items() if note != noted[name]]
        if copies:  # else their content would be compared each time
            self._change("UPDATE held SET file = ? WHERE name = ? AND sha256 = ?", copies)
        return set(seen)

    def tags(self, names: Iterable[str]) -> dict[str, Tag]:
        """Return the tags of those records that are noted, also where they are written and not uploaded."""
        return {name: json.loads(note.tag) for name, note in self._read(names).items() if note.tag}

    def records(self) -> list[str]:
        """Return all records that are noted, also where they are removed, and not yet from the bucket."""
        with self._open() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM held WHERE tag IS NOT NULL")]

    def add(self, files: Iterable[tuple[str, BufferedReader, Tag | None]]) -> None:
        """Note that the bucket holds open files under their names, and the tags of those that are records."""
        rows = [(name, *_note_of(name, file, tag)) for name, file, tag in files]
        self._change("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?, ?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        """Remove the notes on files that are gone."""
        self._change("DELETE FROM held WHERE name = ?", [(name,) for name in names])

    def link_from(self, other: Path, sizes: Mapping[str, int | None]) -> None:
        """Link the files that another process's folder holds with these sizes, if a size is given."""
        if not (other / NOTES).exists():
            return
        for name in Notes(other).held(sizes):
            with suppress(OSError), (other / name).open("rb") as file:
                if sizes[name] in (None, os.fstat(file.fileno()).st_size):
                    self.add([(name, file, None)])
                    (self._root / name).parent.mkdir(parents=True, exist_ok=True)
                    os.link(other / name, self._root / name)

    def _read(self, names: Iterable[str]) -> dict[str, _Note]:
        query = "SELECT size, file, sha256, tag FROM held WHERE name = ?"
        with self._open() as connection:
            rows = ((name, connection.execute(query, [name]).fetchone()) for name in names)
            return {name: _Note(*row) for name, row in rows if row}

    def _change(self, statement: str, rows: Sequence[tuple[str | int | None, ...]]) -> None:
        if rows:
            with self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(statement, rows)
                connection.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database for the block, and create it; no power failure is worth a flush, as it only costs notes."""
        path = self._root / NOTES
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with self._busy, closing(sqlite3.connect(path, _WAIT_SECONDS, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = OFF")
                if not _is_made(connection):
                    connection.execute("BEGIN IMMEDIATE")
                    if not _is_made(connection):
                        connection.execute(_CREATE)
                        connection.executemany("INSERT INTO held VALUES (?, ?, ?, ?, ?)", self._of_earlier_versions())
                        connection.execute("PRAGMA user_version = 1")
                    connection.execute("COMMIT")
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path} cannot be used: {error}; delete it and run again") from error

    def _of_earlier_versions(self) -> Iterator[tuple[str, int, str | None, str | None, str | None]]:
        """Yield what an earlier version of this package has noted: by modes, and in a file of tags."""
        tags: dict[str, Tag] = {}
        with suppress(OSError, ValueError):
            tags = json.loads((self._root / _TAGS_OF_EARLIER_VERSIONS).read_bytes())
        for path in self._root.rglob("*"):
            if path.is_file() and not path.stat().st_mode & 0o222:
                name = path.relative_to(self._root).as_posix()
                with path.open("rb") as file:
                    yield name, *_note_of(name, file, tags.get(name))
        (self._root / _TAGS_OF_EARLIER_VERSIONS).unlink(missing_ok=True)


def is_named_by_content(name: str) -> bool:
    """Say whether files of a name are all the same: those of table versions are."""
    return name.startswith("tables/") and not name.endswith(".json")


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note_of(name: str, file: BufferedReader, tag: Tag | None) -> _Note:
    facts = os.fstat(file.fileno())
    file.seek(0)
    by_name = is_named_by_content(name)
    # What steps hand on is large, and does not outlive the process.
    hashed = None if by_name or name.startswith("scratch/") else hashlib.file_digest(file, "sha256").hexdigest()
    return _Note(facts.st_size, None if by_name else _name_of(facts), hashed, json.dumps(tag) if tag else None)


def _name_of(facts: os.stat_result) -> str:
    # The time alone is not enough: within a tick of the system's clock a file may be written twice.
    return f"{facts.st_ino} {facts.st_mtime_ns}"


def _is_made(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA user_version").fetchone()[0])
