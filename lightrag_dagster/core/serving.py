"""The code inside a child process that answers questions: its messages and its limits."""

import os
import resource
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from pathlib import Path
from threading import Thread

from lightrag_dagster.errors import one_line

IDLE_SECONDS = 60.0

START_SECONDS = 120.0
"""Time that a process may take to get ready, or to take a message."""

_MEMORY_IN_PAGES = Path("/proc/self/statm")
_COUNTED_BY = {resource.RLIMIT_AS: 0, resource.RLIMIT_DATA: 5}
"""Limit of memory → position of the number of pages that it counts."""

_LENGTH_BYTES = 8
_PIECE_BYTES = 1 << 18


class Channel:
    """One end of a connection on which two processes exchange messages of bytes."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.is_ready = False

    def say_ready(self, problem: str = "") -> None:
        """Send the first message: the process is ready, or the reason why it is not."""
        self.is_ready = True
        self.send(problem.encode("utf-8", "replace"))

    def send(self, message: bytes, seconds: float = START_SECONDS) -> None:
        """Send a message; raises OSError when the other end is closed, TimeoutError when it does not read in time."""
        self._socket.settimeout(seconds)
        self._socket.sendall(len(message).to_bytes(_LENGTH_BYTES))
        self._socket.sendall(message)

    def receive(self, seconds: float, most: int = sys.maxsize) -> bytes:
        """Return the next message.

        Raises:
            TimeoutError: it has not arrived whole within `seconds`.
            EOFError: the other end is closed; OSError: likewise.
            OverflowError: it has more than `most` bytes.
        """
        deadline = time.monotonic() + seconds
        length = int.from_bytes(self._read(_LENGTH_BYTES, deadline))
        if length > most:
            raise OverflowError(f"a message of {length} bytes")
        return self._read(length, deadline)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _read(self, length: int, deadline: float) -> bytes:
        data = BytesIO()
        while left := length - data.tell():
            self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
            piece = self._socket.recv(min(left, _PIECE_BYTES))
            if not piece:
                raise EOFError
            data.write(piece)
        return data.getvalue()


def main() -> None:
    """Run `serve` of the module that the command line names, until the other end is closed."""
    module, descriptor, *arguments = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the process that asks decides
    limit(resource.RLIMIT_CORE, 0)
    channel = Channel(socket.socket(fileno=int(descriptor)))
    Thread(target=_end_with_the_other, args=[int(descriptor)], daemon=True).start()
    try:
        import_module(module).serve(channel, arguments)
    except Exception as error:
        if not channel.is_ready:
            channel.say_ready(one_line(error))
        elif not isinstance(error, EOFError | OSError):
            raise


def _end_with_the_other(descriptor: int) -> None:
    """End this process at once when the other end of its connection is closed."""
    closed = select.poll()
    closed.register(descriptor, select.POLLHUP)
    closed.poll()
    os._exit(0)


def limit_further(size: int, kind: int = resource.RLIMIT_DATA) -> None:
    """Limit the bytes that this process may take from now on, on Linux; beyond, there is a MemoryError."""
    if _MEMORY_IN_PAGES.exists():
        limit(kind, int(_MEMORY_IN_PAGES.read_text().split()[_COUNTED_BY[kind]]) * resource.getpagesize() + size)


def limit(kind: int, value: int) -> None:
    """Limit a resource of this process, if the system can."""
    with suppress(ValueError, OSError):  # macOS cannot limit memory
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
