"""A question under way: the time that it may take, and the calls that end with it when its caller leaves."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock, Semaphore
from typing import TypeVar, cast

from lightrag_dagster.core.child import Child, ChildEndedError, Pool
from lightrag_dagster.core.holding import holding
from lightrag_dagster.errors import QueryTimeoutError

Result = TypeVar("Result")
Answer = TypeVar("Answer")


class UnderWay:
    """A question under way. Its threads find it by `current`; any thread or event loop may give it up."""

    def __init__(self, seconds: float | None = None, turns: Semaphore | None = None) -> None:
        """Begin now.

        Args:
            seconds: the time that it may take; any, unless given.
            turns: the turns of all questions that work, as opposed to those that wait for a model.
        """
        self._seconds, self._turns = seconds, turns
        self._end = None if seconds is None else time.monotonic() + seconds
        self._given_up = False
        self._calls: set[Callable[[], object]] = set()
        self._changing = Lock()

    def left(self) -> float | None:
        """Return the seconds that are left, if there is a limit; raises QueryTimeoutError, CancelledError."""
        if self._given_up:
            raise CancelledError
        if self._end is None:
            return None
        if (left := self._end - time.monotonic()) <= 0:
            raise self.too_late()
        return left

    def too_late(self) -> QueryTimeoutError:
        """Return the error for a question whose time is over."""
        return QueryTimeoutError(f"the question took longer than {self._seconds:g} s; give it more time, or narrow it")

    def give_up(self) -> None:
        """End its running calls, and let it make no others; a question that has ended stays as it is."""
        with self._changing:
            self._given_up = True
            calls = list(self._calls)
        for end in calls:
            end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end`, which ends what the block waits for, if the question is given up before or during the block."""
        with self._changing:
            self._calls.add(end)
            late = self._given_up
        if late:
            end()
        try:
            yield
        finally:
            with self._changing:
                self._calls.discard(end)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the turn to another question while the block waits for a model."""
        if self._turns is None:
            yield
            return
        self._turns.release()
        try:
            yield
        finally:
            self._turns.acquire()

    def result(self, future: Future[Result]) -> Result:
        """Wait for a call to a model; it is cancelled if its answer does not come in time, or is not wanted any more.

        Raises:
            QueryTimeoutError: the time is over.
            CancelledError: the question was given up, or the loop of the call was closed.
        """
        try:
            with self.ended_by(future.cancel), self.aside():
                return future.result(self.left())
        except TimeoutError:
            if future.done():  # its own error, or an answer at the last moment
                return future.result()
            raise self.too_late() from None
        finally:
            future.cancel()

    def ask(self, processes: Pool, exchange: Callable[[Child, float | None], Answer]) -> Answer:
        """Return what `exchange` gets of a process, in the seconds that are left; raises as `left` and `Pool.ask`."""

        def with_what_is_left(child: Child) -> Answer | None:
            try:
                seconds = self.left()
            except (QueryTimeoutError, CancelledError):
                return None  # not raised, so that a process that took long to start stays for the next question
            with self.ended_by(child.kill):
                return exchange(child, seconds)

        try:
            with self.aside():
                answer = processes.ask(with_what_is_left, self.left())
        except TimeoutError:
            if self._end is None:
                raise
            raise self.too_late() from None
        except ChildEndedError:
            self.left()
            raise
        if answer is None:
            self.left()  # raises what it did there
        return cast(Answer, answer)

    def run(self, work: Callable[[], Result]) -> Result:
        """Work on the question when it has its turn."""
        with self._turns or nullcontext(), self.resumed():
            self.left()
            return work()

    @contextmanager
    def resumed(self) -> Iterator["UnderWay"]:
        """Make it the question of the block."""
        with holding(_current, self):
            yield self


_UNBOUND = UnderWay()
_current: ContextVar[UnderWay] = ContextVar("lightrag_asked", default=_UNBOUND)


def current() -> UnderWay:
    """Return the question that the caller works on; without one, a question without any limit."""
    return _current.get()


@contextmanager
def asking(seconds: float | None) -> Iterator[UnderWay]:
    """Begin a question for the block, unless it is part of one already."""
    found = _current.get()
    with (UnderWay(seconds) if found is _UNBOUND else found).resumed() as asked:
        yield asked
