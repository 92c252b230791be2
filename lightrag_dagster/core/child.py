"""Child processes that answer questions, so that a question that hangs or crashes one costs only itself.

A child runs `serve(channel, arguments)` of a module, which prepares itself, reports that it is ready, and then answers
messages. It gets the environment variables that programs need to run, and no keys. It ends at once with the process
that started it, after a question that was not answered, or after a minute without one. `serve` sets its own limits.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from lightrag_dagster.core.serving import START_SECONDS, Channel, main
from lightrag_dagster.errors import one_line

_MAIN = "import sys; sys.path[:] = {path!r}; from {module} import main; main()"
_PASSED_ON = {"PATH", "HOME", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV"}
_ALL_PASSED_ON = ("LC_", "LD_", "DYLD_", "PYTHON")
# Reserved memory counts against a limit, so: one arena, and no thread of numpy's for each processor.
_LITTLE_RESERVED = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}

Answer = TypeVar("Answer")


class ChildEndedError(Exception):
    """A process ended; the message is the signal that ended it, " (SIGSEGV)", or empty."""


class ChildStartError(ChildEndedError):
    """A process did not start, or get ready; the message is as before, or ": " and a reason."""


class PoolClosedError(Exception):
    """A pool was closed."""


class Child:
    """A process that runs `serve` of a module; `is_new` until it has answered."""

    def __init__(self, module: str, arguments: Sequence[str], prefixes: tuple[str, ...]) -> None:
        self.is_new = True
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise ChildStartError(f": {one_line(error)}") from error
        self._channel = Channel(ours)
        with theirs:
            # Modules are found where this process finds them: -P adds no folder, and PYTHONPATH would come first.
            run = _MAIN.format(path=[str(entry) for entry in sys.path], module=main.__module__)
            command = [sys.executable, "-P", "-c", run, module, str(theirs.fileno()), *arguments]
            try:
                self.process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_passed_on(prefixes),
                )
            except OSError as error:
                self._channel.close()
                raise ChildStartError(f": {one_line(error)}") from error

    def wait_until_ready(self) -> None:
        """Wait for its first message; raises ChildStartError."""
        try:
            problem = self._channel.receive(START_SECONDS)
        except (EOFError, OSError) as error:
            raise ChildStartError(self.end()) from error
        if problem:
            raise ChildStartError(f": {problem.decode('utf-8', 'replace')}")

    def send(self, message: bytes) -> None:
        """Send it a message; raises ChildEndedError."""
        try:
            self._channel.send(message)
        except OSError as error:
            raise ChildEndedError(self.end()) from error

    def receive(self, seconds: float, most: int = sys.maxsize) -> bytes:
        """Return its next message; raises ChildEndedError, or TimeoutError and OverflowError as `Channel.receive`."""
        try:
            return self._channel.receive(seconds, most)
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise ChildEndedError(self.end()) from error

    def end(self, seconds: float = 1.0) -> str:
        """Wait for the process to end, then kill it; return the signal that ended it, if any: " (SIGSEGV)"."""
        self._channel.close()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return f" ({signal.Signals(-code).name})" if code < 0 else ""

    def kill(self) -> None:
        """End the process now; a thread that waits for its answer gets ChildEndedError."""
        self.process.kill()

    def forget(self) -> None:
        """Leave the process to the one that started it, after a fork."""
        self._channel.close()
        self.process.returncode = 0


class Pool:
    """A pool of equal processes, each reused for one question after the other; threads may share it.

    A fork of this process starts its own. They end when the pool is closed or no longer used, or Python ends.
    """

    def __init__(
        self, module: str, arguments: Sequence[str] = (), *, prefixes: tuple[str, ...] = (), most: int = sys.maxsize
    ) -> None:
        """Prepare processes; the first is started by the first question.

        Args:
            module: the module whose `serve` is run.
            arguments: the arguments of `serve`.
            prefixes: prefixes of further environment variables that are passed on.
            most: number of processes at once; further questions wait for their turn.
        """
        self._start = partial(Child, module, arguments, prefixes)
        self._most = most
        self._children: set[Child] = set()
        self._is_closed = False
        self._begin()
        _pools.add(self)
        weakref.finalize(self, _end_all, self._children)

    def _begin(self) -> None:
        self._idle: list[Child] = []
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(self._most)

    def ask(self, exchange: Callable[[Child], Answer], turn_seconds: float | None = None) -> Answer:
        """Return the answer of `exchange` with an idle process; after an error the process is not used again.

        If a process that answered before ends, a new one is asked: an earlier question, or a minute without any, may
        have been the cause.

        Raises:
            ChildEndedError: a new process ended as well.
            PoolClosedError: the pool is closed, or was closed meanwhile.
            TimeoutError: its turn did not come within `turn_seconds`.
        """
        with self._turn(turn_seconds):
            child = self._take()
            try:
                return self._try(child, exchange)
            except ChildEndedError:
                if child.is_new:
                    raise
            return self._try(self._take(reuse=False), exchange)

    def close(self) -> None:
        """End all processes; callers that wait for an answer get PoolClosedError."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for child in self._children.difference(idle):
                child.kill()
            self._children.difference_update(idle)
        _end_all(idle)

    def after_fork(self) -> None:
        """Start again in a fork, without the processes of its parent."""
        for child in self._children:
            child.forget()
        self._children.clear()
        self._begin()

    @contextmanager
    def _turn(self, seconds: float | None) -> Iterator[None]:
        if not self._turns.acquire(timeout=seconds):
            raise TimeoutError
        try:
            yield
        finally:
            self._turns.release()

    def _take(self, *, reuse: bool = True) -> Child:
        with self._lock:
            if self._is_closed:
                raise PoolClosedError
            if reuse and self._idle:
                return self._idle.pop()
            child = self._start()
            self._children.add(child)
            return child

    def _try(self, child: Child, exchange: Callable[[Child], Answer]) -> Answer:
        try:
            if child.is_new:
                child.wait_until_ready()
            answer = exchange(child)
        except BaseException as error:
            # After an interrupt, the answer that comes would be taken for that of the next question.
            self._drop(child)
            if self._is_closed and isinstance(error, ChildEndedError):
                raise PoolClosedError from error
            raise
        child.is_new = False
        with self._lock:
            if not self._is_closed:
                self._idle.append(child)
                return answer
        self._drop(child)
        return answer

    def _drop(self, child: Child) -> None:
        child.kill()
        child.end()
        with self._lock:
            self._children.discard(child)


_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


def _end_all(children: Collection[Child]) -> None:
    for child in list(children):
        child.end()


def _after_fork() -> None:
    for pool in _pools:
        pool.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _passed_on(prefixes: tuple[str, ...]) -> dict[str, str]:
    names = [name for name in os.environ if name in _PASSED_ON or name.startswith(_ALL_PASSED_ON + prefixes)]
    return {name: os.environ[name] for name in names} | _LITTLE_RESERVED
