"""Stores of JSON that others wrote: an object of rows by their keys, or a row a line; read a row at a time."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from lightrag_dagster.errors import SourceError

_BLOCK = 1 << 20
_SPACE = " \t\r\n"
_NO_MORE = ""

Row = dict[str, Any]


class JsonStores:
    """The stores of a folder; `notes` has a sentence about each that could not be read to its end.

    No row may be longer than `most` characters, which is held in memory.
    """

    def __init__(self, folder: Path, most: int) -> None:
        """Take a folder; raises SourceError if it is none."""
        if not folder.is_dir():
            raise SourceError(f"{folder} is no folder; name the working directory in which the stores are")
        self.notes: list[str] = []
        self._folder, self._most = folder, most

    def path(self, name: str) -> Path | None:
        """Return a regular file of the folder, not a link out of it; None if there is none."""
        path = self._folder / name
        if not path.is_file():
            return None
        if not path.resolve().is_relative_to(self._folder.resolve()):
            self.note(f"{name} is a link out of {self._folder} and is not read")
            return None
        return path

    def note(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def has(self, name: str) -> bool:
        """Say whether there is a store NAME.json or NAME.jsonl."""
        return self.path(f"{name}.json") is not None or self.path(f"{name}.jsonl") is not None

    def rows(self, name: str, inside: Callable[[str], bool] = lambda _: False) -> Iterator[tuple[str, Row]]:
        """Yield key and row of a store; of none, nothing. Keys that are `inside` hold rows themselves.

        Where a file is cut or damaged, the rows before that are yielded.
        """
        if path := self.path(f"{name}.json"):
            read: Iterator[tuple[str, object]] = self._object(path, inside)
        elif path := self.path(f"{name}.jsonl"):
            read = self._lines(path)
        else:
            return
        count = 0
        try:
            for key, row in read:
                if isinstance(row, dict):
                    count += 1
                    yield key, row
        except (OSError, ValueError, RecursionError) as error:
            said = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
            self.note(f"{path.name} is read up to row {count:,}, where it is damaged: {said}")

    def _object(self, path: Path, inside: Callable[[str], bool]) -> Iterator[tuple[str, object]]:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield from _Reader(file, self._most).rows(inside)

    def _lines(self, path: Path) -> Iterator[tuple[str, object]]:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            while line := file.readline(self._most):
                try:
                    row = json.loads(line) if line.strip() else None
                except (ValueError, RecursionError):
                    self.note(f"{path.name} has lines that are no JSON; they are left out")
                    continue
                if isinstance(row, dict):
                    yield str(row.get("_id") or row.get("id") or ""), row


class _Reader:
    """A reader of one JSON object, whose values are decoded one at a time."""

    def __init__(self, file: TextIO, most: int) -> None:
        self._file, self._most = file, most
        self._text, self._at = "", 0
        self._decode = json.JSONDecoder(strict=False).raw_decode

    def rows(self, inside: Callable[[str], bool]) -> Iterator[tuple[str, object]]:
        """Yield key and value of the object that begins here; raises ValueError where it is damaged."""
        self._take("{")
        while self._next() != "}":
            key = self._value()
            self._take(":")
            if isinstance(key, str) and inside(key) and self._next() == "{":
                yield from self.rows(lambda _: False)
            else:
                yield str(key), self._value()
            if self._next() != "}":
                self._take(",")
        self._take("}")

    def _next(self) -> str:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _take(self, sign: str) -> None:
        if (found := self._next()) != sign:
            raise ValueError(f"it has {found!r} in place of {sign!r}" if found else "it ends in the middle")
        self._at += 1

    def _value(self) -> object:
        self._next()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise ValueError(f"a value cannot be read: {error.msg}") from error
                continue
            if end < len(self._text) or not self._more():  # else a number may go on
                self._at = end
                return value

    def _more(self) -> bool:
        left = self._text[self._at :]
        if len(left) > self._most:
            raise ValueError(f"a row is longer than {self._most:,} characters")
        read = self._file.read(max(_BLOCK, len(left)))
        self._text, self._at = left + read, 0
        return read != _NO_MORE
