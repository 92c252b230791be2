"""Stores of JSON that others wrote: an object of rows by their keys, or a row a line; read a row at a time."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from lightrag_dagster.errors import SourceError, one_line

_BLOCK = 1 << 20
_KEY = re.compile(r'[\s{},]*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_NESTED = {f'"{mode}"' for mode in ("default", "local", "global", "hybrid", "mix", "naive", "bypass")}
_ENDS = " \t\r\n{},"
_decode = json.JSONDecoder(strict=False).raw_decode

Row = dict[str, Any]


class JsonStores:
    """The stores of a folder; `notes` has a sentence about each that could not be read to its end, `damaged` its name.

    No row may be longer than `most` characters, which are held in memory.
    """

    def __init__(self, folder: Path, most: int) -> None:
        """Take a folder; raises SourceError if it is none."""
        if not folder.is_dir():
            raise SourceError(f"{folder} is not a folder; name the working directory in which the stores are")
        self.notes, self.damaged = list[str](), set[str]()
        self.folder, self._most = folder, most

    def path(self, *names: str) -> Path | None:
        """Return the first of some files that is there, and not a link out of the folder."""
        paths = (self.folder / name for name in names)
        return next((one for one in paths if one.is_file() and self.folder.resolve() in one.resolve().parents), None)

    def rows(self, name: str) -> Iterator[tuple[str, Row]]:
        """Yield key and row of a store, NAME.json or NAME.jsonl; of a damaged one, the rows before that.

        LightRAG 1.3 has the answers of a mode under its name; these rows are yielded as well.
        """
        count, path = 0, self.path(f"{name}.json", f"{name}.jsonl")
        if path is None:
            self.notes.append(f"{name}.json is not in the folder, or is a link out of it")
            return
        try:
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                for key, row in self._object(file) if path.suffix == ".json" else self._lines(file):
                    count += 1
                    yield key, row
        except (OSError, ValueError, RecursionError) as error:
            self.damaged.add(name)
            self.notes.append(f"{path.name} is read up to row {count:,}, after which it is damaged: {one_line(error)}")

    def _object(self, file: TextIO) -> Iterator[tuple[str, Row]]:
        text, opened, closed = "", 0, 0  # braces between the rows
        while block := file.read(max(_BLOCK, len(text))):
            text, at = text + block, 0
            while found := _KEY.match(text, at):
                row, end = None, found.end()
                if found[1] not in _NESTED or text[end : end + 1] != "{":  # else rows follow, by keys of their own
                    try:
                        row, end = _decode(text, end)
                    except json.JSONDecodeError:  # perhaps more of it follows
                        break
                between = text[at : found.start(1)]
                opened, closed = opened + between.count("{"), closed + between.count("}")
                if isinstance(row, dict):
                    yield str(json.loads(found[1], strict=False)), row
                at = end
            text = text[at:]
            if len(text) > self._most:
                raise ValueError(f"a row is longer than {self._most:,} characters, or none")
        if text.strip(_ENDS) or not 0 < opened + text.count("{") == closed + text.count("}"):
            raise ValueError("it ends in the middle")

    def _lines(self, file: TextIO) -> Iterator[tuple[str, Row]]:
        while line := file.readline(self._most):
            row = json.loads(line) if line.strip() else None
            if isinstance(row, dict):
                yield str(row.get("_id") or row.get("id") or ""), row
