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
    """What is in a file: keys in their order, about how many tokens, and at most how many US dollars."""

    name: str
    keys: list[str] = field(default_factory=list)
    size: int = 0
    tokens: int = 0
    worst_usd: float = 0.0


class Spool:
    """Writes requests to files `<name>.jsonl`; calls `sealed` for each file that is whole and on disk.

    A file holds at most `max_requests` requests and `max_bytes` bytes of the settings, but one request at least.
    """

    def __init__(self, folder: Path, settings: BatchSettings, sealed: Callable[[RequestFile], None]) -> None:
        self._folder = folder
        self._settings = settings
        self._sealed = sealed
        self._stream: IO[bytes] | None = None
        self._file = RequestFile("")
        self.requests = 0

    def add(self, key: str, body: dict[str, Any], tokens: int, worst_usd: float) -> None:
        """Write one request; it is submitted under its response key.

        Raises:
            StoreError: the disk refuses.
        """
        request = {"custom_id": key, "method": "POST", "url": self._settings.endpoint, "body": body}
        line = json.dumps(request).encode() + b"\n"
        full = self._file.size + len(line) > self._settings.max_bytes
        if len(self._file.keys) == self._settings.max_requests or (full and self._file.keys):
            self.seal()
        try:
            if self._stream is None:
                self._file = RequestFile(uuid4().hex)
                self._folder.mkdir(parents=True, exist_ok=True)
                self._stream = request_path(self._folder, self._file.name).open("wb")
            self._stream.write(line)
        except OSError as error:
            raise _refused(self._folder, error) from error
        self._file.keys.append(key)
        self._file.size += len(line)
        self._file.tokens += tokens
        self._file.worst_usd += worst_usd
        self.requests += 1

    def seal(self) -> None:
        """Finish the file that is being written, if any; raises as `add`."""
        if self._stream is None:
            return
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
        except OSError as error:
            raise _refused(self._folder, error) from error
        self._stream = None
        finished, self._file = self._file, RequestFile("")
        self._sealed(finished)


def request_path(folder: Path, name: str) -> Path:
    """Return where the file of a batch lies until it is submitted."""
    return folder / f"{name}.jsonl"


def _refused(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write requests to {folder}: {error.strerror or error}; nothing of them was submitted")
