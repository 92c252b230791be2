"""The end of a command: every error and signal is one line on standard error and an exit code."""

import errno
import logging
import os
import resource
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

import typer
from typer.core import TyperGroup

from lightrag_dagster.cli.terminal import console
from lightrag_dagster.errors import BuilderLockedError, LightRAGError, WorseRecipeError, lacks_files, origins

PERSON, UNEXPECTED, WORSE, BUSY = 2, os.EX_SOFTWARE, 3, os.EX_TEMPFAIL
"""Exit codes of an error that a person can correct, of any other: 70, of a worse recipe, and of another builder: 75.

A signal is 128 and its number.
"""
GRACE_SECONDS = 5.0
"""After a signal a command has this long to end by itself."""
_SEEN_SECONDS = 1.0
_FULL = {errno.ENOSPC, errno.EDQUOT}
_asyncio = logging.getLogger("asyncio")
"""Disabled after a signal: a loop that is cut short may have something to say of each connection."""


class Commands(TyperGroup):
    """The commands; the option `debug` shows the traceback of an unexpected error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            typer.Exit: it failed; one line says why.
        """
        with _signals() as signals:
            try:
                return super().invoke(ctx)
            except BaseException as error:
                # An exit or a usage error; until typer 0.26 they are those of click.
                if type(error).__module__.partition(".")[0] in ("typer", "click"):
                    name = getattr(error, "option_name", None)
                    if any(name in one.opts for one in self.params):
                        cast(Any, error).message += f"; it stands before the command: {ctx.info_name} {name} …"
                    raise
                # The reader of the rows has ended, as in `sql … | head`; rich makes a SystemExit of that.
                if isinstance(error.__context__ if isinstance(error, SystemExit) else error, BrokenPipeError):
                    raise typer.Exit(128 + signal.SIGPIPE) from error
                # Libraries report an interruption in different ways; DuckDB raises a RuntimeError.
                if stopped := signals.received(wait=not isinstance(error, Exception)):
                    line, code = _stopped(stopped), 128 + stopped
                else:
                    line, code = _explained(error, debug=ctx.params.get("debug", False))
                _forget_frames(error)
        _print(line)
        raise typer.Exit(code)


def leave(run: Callable[[], object]) -> None:
    """Run the command line and end the process; always raises SystemExit."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")  # they are None if they were closed before the start
    sys.stderr = sys.stderr or nowhere.open("w")
    code: int | str | None = 0
    failed: OSError | None = None
    try:
        run()
    except SystemExit as ended:
        code = ended.code
    except OSError as error:  # of help, which is printed before a command runs
        failed = error
    failed = _flush(sys.stdout) or failed
    if failed and not code and not isinstance(failed, BrokenPipeError):
        line, code = _explained(failed, debug=False)
        _print(line)
    _flush(sys.stderr)  # with no standard error left, the exit code is all that can be said
    sys.exit(code)


def _flush(stream: TextIO) -> OSError | None:
    """Write the lines that wait; where that fails, discard them, since Python would try again, and return the error."""
    try:
        stream.flush()
    except OSError as error:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
        return error
    return None


class _Signals:
    """A watch for SIGINT and SIGTERM in a thread, since neither handler nor exception says which of them it was.

    Dagster replaces the handlers while it runs a job, by one for both. If an interruption is lost, in a callback of a
    library or a long call into one, the thread ends the process, without Python's own clean-up: no other command ends
    so. The stores survive that: every write is atomic.
    """

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._signal: signal.Signals | None = None
        self._arrived, self.ended = threading.Event(), threading.Event()

    def received(self, *, wait: bool) -> signal.Signals | None:
        """Return the signal, if there was one; `wait` for the thread if the main thread has seen it already."""
        if wait:
            self._arrived.wait(_SEEN_SECONDS)
        return self._signal

    def watch(self) -> None:
        """Wait for a signal, and then for the end of the command."""
        while not self.ended.is_set():
            number = os.read(self._reader, 1)[0]
            if number in (signal.SIGINT, signal.SIGTERM):
                _asyncio.disabled = True
                self._signal = signal.Signals(number)
                self._arrived.set()
                break
        if self._signal and not self.ended.wait(GRACE_SECONDS):
            _print(_stopped(self._signal))
            os._exit(128 + self._signal)


@contextmanager
def _signals() -> Iterator[_Signals]:
    """Let SIGTERM interrupt the block as Ctrl-C does, and watch for both."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signals = _Signals(reader)
    thread = threading.Thread(target=signals.watch, name="signals", daemon=True)
    record = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # `asyncio` replaces no other one
    thread.start()
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, handler)
        signal.set_wakeup_fd(record)
        signals.ended.set()
        os.write(writer, bytes(1))
        thread.join()
        _asyncio.disabled = False
        os.close(reader)
        os.close(writer)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    _asyncio.disabled = True
    raise KeyboardInterrupt


def _stopped(number: signal.Signals) -> str:
    return f"stopped by {number.name}; run it again: all that was answered is kept"


def _explained(error: BaseException, *, debug: bool) -> tuple[str, int]:
    """Return the line and the exit code of an error; print or store the traceback of an unexpected one."""
    if lacks_files(error):
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"error: more than {most:,} files would be open at once; raise `ulimit -n`, then run it again", PERSON
    if isinstance(error, LightRAGError):
        return f"error: {error}", {BuilderLockedError: BUSY, WorseRecipeError: WORSE}.get(type(error), PERSON)
    if isinstance(error, OSError) and error.errno in _FULL:
        place = f"{error.filename} is" if error.filename else "standard output or a disk is"
        return f"error: {place} full: {error.strerror}; make room, then run it again", PERSON
    said = f"unexpected error: {type(error).__name__}: {' '.join(str(error).split())}"
    if debug:
        traceback.print_exception(error)
        return said, UNEXPECTED
    place = ""
    with (
        suppress(OSError),  # without a folder for temporary files
        tempfile.NamedTemporaryFile("w", prefix="lightrag-dagster-", suffix=".log", delete=False) as file,
    ):
        traceback.print_exception(error, file=file)
        place = f"in {file.name}, or "
    return f"{said}; the traceback is {place}printed with `lightrag-dagster --debug …`", UNEXPECTED


def _forget_frames(error: BaseException) -> None:
    """Forget what the frames of an error hold: Dagster keeps the error, and DuckDB lists what lives at the very end."""
    for one in origins(error):
        one.__traceback__ = None
        vars(one).pop("original_exc_info", None)  # Dagster's own copy


def _print(line: str) -> None:
    with suppress(OSError):  # as above
        console(stderr=True).print(line, style="red")
