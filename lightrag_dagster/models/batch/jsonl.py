"""Requests on their way into JSONL files, each within the provider's limits for one batch."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import BatchSettings


@dataclass
class RequestFile:
    """What is in a file: keys, bytes, about how many tokens, and at most how many US dollars."""

    name: str = field(default_factory=lambda: uuid4().hex)
    keys: set[str] = field(default_factory=set)
    size: int = 0
    tokens: int = 0
    worst_usd: float = 0.0


class Spool:
    """Writes requests to files `<name>.jsonl`; calls `sealed` for each file that is whole and on disk.

    A file holds at most `max_requests` requests, `max_bytes` bytes and `room` tokens, but one request at least.
    """

    def __init__(
        self, folder: Path, settings: BatchSettings, room: int | None, sealed: Callable[[RequestFile], None]
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._room = room
        self._sealed = sealed
        self._stream: IO[bytes] | None = None
        self._file = RequestFile()

    def __contains__(self, key: str) -> bool:
        """Whether a request is in the file that is being written."""
        return key in self._file.keys

    def add(self, key: str, body: dict[str, Any], tokens: int, worst_usd: float) -> None:
        """Write one request; it is submitted under its response key.

        Raises:
            StoreError: the disk refuses.
        """
        request = {"custom_id": key, "method": "POST", "url": self._settings.endpoint, "body": body}
        line = json.dumps(request).encode() + b"\n"
        if self._file.keys and not self._fits(len(line), tokens):
            self.seal()
        try:
            if self._stream is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._stream = request_path(self._folder, self._file.name).open("wb")
            self._stream.write(line)
        except OSError as error:
            raise _refused(self._folder, error) from error
        self._file.keys.add(key)
        self._file.size += len(line)
        self._file.tokens += tokens
        self._file.worst_usd += worst_usd

    def seal(self) -> None:
        """Finish the file that is being written, if any; raises as `add`."""
        if self._stream is None:
            return
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise _refused(self._folder, error) from error
        self.close()
        finished, self._file = self._file, RequestFile()
        self._sealed(finished)

    def close(self) -> None:
        """Let go of the file that is being written; unless it was sealed nobody will use it."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _fits(self, size: int, tokens: int) -> bool:
        file, limits = self._file, self._settings
        return (
            len(file.keys) < limits.max_requests
            and file.size + size <= limits.max_bytes
            and (self._room is None or file.tokens + tokens <= self._room)
        )


def request_path(folder: Path, name: str) -> Path:
    """Return where the file of a batch lies until it is submitted."""
    return folder / f"{name}.jsonl"


def _refused(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write requests to {folder}: {error.strerror or error}; mend that and run again")
