"""Reading a file in a process of its own, so that one that hangs, crashes or fills its parser costs only itself.

A parser process reads one file after the other, and ends when a file exceeds a limit, or after a minute without one.
It gets the bytes of a file and answers with JSON, so that it can make nothing here but text; it has no keys. It is no
sandbox: what takes over a parser has the rights of the user.
"""

import atexit
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from lightrag_dagster.stages.documents.formats import format_of
from lightrag_dagster.stages.documents.formats.content import ReadingOptions, UnreadableError
from lightrag_dagster.stages.documents.formats.extraction import ExtractedText, extract_text

if TYPE_CHECKING:
    from lightrag_dagster.settings import DocumentSettings  # a parser process starts in half the time without

_IDLE_SECONDS = 60
_START_SECONDS = 120
_SERVE = f"from {__name__} import serve; serve()"
_PASSED_ON = {"PATH", "HOME", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV"}
_ALL_PASSED_ON = ("LC_", "LD_", "DYLD_", "PYTHON", "DOCLING_", "HF_HOME")
_PAGE_DONE = b"."


def extract_isolated(data: bytes, path: str, settings: "DocumentSettings", *, figures: bool = False) -> ExtractedText:
    """Do as `extract_text`, within `max_seconds` and `max_memory_mb`; each page whose text is recognised has the time.

    With `figures`, images stand in the text. A mail that fails so with its attachments is read without them.

    Raises:
        UnreadableError: as `extract_text`, or the file exceeds a limit or ends its parser.
    """
    options = ReadingOptions(settings.recognise_text, figures, settings.pdf_reader)
    try:
        return _extract(data, path, options, settings)
    except _LimitError as error:
        found = format_of(path)
        if found is None or not found.has_attachments:
            raise
        extracted = _extract(data, path, options._replace(attachments=False), settings)
        return replace(extracted, note=f"its attachments are not read: {error}")


def _extract(data: bytes, path: str, options: ReadingOptions, settings: "DocumentSettings") -> ExtractedText:
    parser = _take(settings.max_memory_mb)
    try:
        try:
            return parser.extract(data, path, options, settings.max_seconds)
        except _EndedError:
            if parser.is_new:
                raise
        # What earlier files left in the process, or a minute without any, may have been the cause.
        parser = _Parser(settings.max_memory_mb)
        return parser.extract(data, path, options, settings.max_seconds)
    except _EndedError as ended:
        raise _LimitError(str(ended)) from ended
    finally:
        _give_back(parser)


class _LimitError(UnreadableError):
    """A file exceeds a limit or ends its parser."""


class _EndedError(Exception):
    """A parser process ended; the message is the reason that a row gives."""


class _Parser:
    """A parser process, which has read nothing yet if it `is_new`."""

    def __init__(self, memory_mb: int) -> None:
        ours, theirs = socket.socketpair()
        names = [name for name in os.environ if name in _PASSED_ON or name.startswith(_ALL_PASSED_ON)]
        environment = {name: os.environ[name] for name in names}
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Of memory that is only reserved, which counts: one arena, and no thread of numpy's for each processor.
        environment |= {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(theirs.fileno()), str(memory_mb)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        self._connection = Connection(ours.detach())
        self.memory_mb = memory_mb
        self.is_new = True
        self.owner = os.getpid()

    @property
    def is_running(self) -> bool:
        """Whether it can be asked again."""
        return not self._connection.closed

    def extract(self, data: bytes, path: str, options: ReadingOptions, seconds: float) -> ExtractedText:
        """Return what the process reads; raises UnreadableError, or _EndedError when the process is no more."""
        try:
            answer = self._ask(data, [path, options, seconds], seconds)
        except BaseException:  # after an interrupt, the answer that comes would be taken for that of the next file
            self._end("")
            raise
        if answer == b"":
            self._end("")
            raise _EndedError(self._too_large())
        self.is_new = False
        kind, said = answer[:1], answer[1:]
        if kind == b"!":
            raise UnreadableError(said.decode("utf-8", "replace"))
        return _extracted().validate_json(said)

    def _ask(self, data: bytes, question: list[object], seconds: float) -> bytes:
        try:
            if self.is_new and not self._connection.poll(_START_SECONDS):
                raise _EndedError(self._end("its parser did not start"))
            if self.is_new:
                self._connection.recv_bytes()
            self._connection.send_bytes(json.dumps(question).encode())
            self._connection.send_bytes(data)
            answer = _PAGE_DONE
            while answer == _PAGE_DONE:
                if not self._connection.poll(seconds):
                    raise _LimitError(
                        f"not read within documents.max_seconds = {seconds:g}; raise it, or divide the file"
                    )
                answer = self._connection.recv_bytes()
            return answer
        except (EOFError, OSError) as error:
            raise _EndedError(self._end("its parser ended")) from error

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _end(self, what: str) -> str:
        """End the process, and return why it ended, beginning with `what`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2 if what else 0)
        self._process.kill()
        self._process.wait()
        self._connection.close()
        code = self._process.returncode
        by = f" ({signal.Signals(-code).name})" if code < 0 else ""
        return f"{what}{by}; the file is damaged, or {self._too_large()}"

    def _too_large(self) -> str:
        return f"needs more memory than documents.max_memory_mb = {self.memory_mb}; raise it, or divide the file"


_idle: list[_Parser] = []
_lock = threading.Lock()


def _take(memory_mb: int) -> _Parser:
    """Return a process that has nothing to do, or a new one."""
    with _lock:
        for place, parser in enumerate(_idle):
            if parser.memory_mb == memory_mb and parser.owner == os.getpid():  # after a fork it is another process's
                return _idle.pop(place)
    return _Parser(memory_mb)


def _give_back(parser: _Parser) -> None:
    if parser.is_running:
        with _lock:
            _idle.append(parser)


@atexit.register
def _close_all() -> None:
    while _idle:
        parser = _idle.pop()
        if parser.owner == os.getpid():
            parser.close()


@cache
def _extracted() -> TypeAdapter[ExtractedText]:
    return TypeAdapter(ExtractedText)


def serve() -> None:
    """Be a parser process: read what comes by the socket that the command line names, until it is closed."""
    connection, memory_mb = Connection(int(sys.argv[1])), int(sys.argv[2])
    _limit(resource.RLIMIT_AS, memory_mb << 20)
    _limit(resource.RLIMIT_CORE, 0)
    connection.send_bytes(b"ready")
    with suppress(EOFError, OSError):
        while connection.poll(_IDLE_SECONDS):
            path, options, seconds = json.loads(connection.recv_bytes())
            data = connection.recv_bytes()
            _limit_time(seconds)

            def page_done(seconds: float = seconds) -> None:
                _limit_time(seconds)
                connection.send_bytes(_PAGE_DONE)

            connection.send_bytes(_answer(data, path, ReadingOptions(*options), page_done))


def _limit_time(seconds: float) -> None:
    """Bound the time of a parser whose run was killed, and so ends it no more."""
    _limit(resource.RLIMIT_CPU, int(time.process_time() + 4 * seconds) + 2)


def _answer(data: bytes, path: str, options: ReadingOptions, page_done: Callable[[], None]) -> bytes:
    """Return the text as JSON after a plus, a reason after an exclamation mark, or nothing if memory is not enough."""
    try:
        return b"+" + _extracted().dump_json(extract_text(data, path, options, page_done))
    except MemoryError:
        return b""
    except UnreadableError as error:
        return b"!" + str(error).encode("utf-8", "replace")


def _limit(kind: int, value: int) -> None:
    with suppress(ValueError, OSError):  # macOS has no limit of memory
        resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
