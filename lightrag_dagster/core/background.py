"""Threads and an event loop in addition to the caller's, which never keep the interpreter from ending.

Python waits at its end for every thread of a `ThreadPoolExecutor` and for every thread that is not a daemon, even if
it calls a server that never answers.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_Call = tuple["Future[Any]", Callable[[], Any]]


class DaemonThreads(ThreadPoolExecutor):
    """An executor with the interface of `ThreadPoolExecutor` whose threads are daemons."""

    # asyncio takes no executor of another class for its own calls.

    def __init__(self, most: int, name: str) -> None:
        """Start threads as calls come, `most` at most; each has the name and a number."""
        self._most = most
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._waiting = threading.Semaphore(0)
        self._workers: list[threading.Thread] = []
        self._submitting = threading.Lock()
        self._ended = False

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> "Future[Result]":
        """Call a function in one of the threads; raises RuntimeError after `shutdown`."""
        future: Future[Result] = Future()
        with self._submitting:
            if self._ended:
                raise RuntimeError(f"the threads {self._name} are shut down")
            self._calls.put((future, partial(fn, *args, **kwargs)))
            if not self._waiting.acquire(blocking=False) and len(self._workers) < self._most:
                name = f"{self._name}_{len(self._workers)}"
                worker = threading.Thread(target=_work, args=(self._calls, self._waiting), name=name, daemon=True)
                self._workers.append(worker)
                worker.start()
        return future

    @property
    def is_caller(self) -> bool:
        """True in one of the threads, which may not wait for the others: they may all do so."""
        return threading.current_thread() in self._workers

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False, timeout: float | None = None) -> None:
        """Take no more calls; `wait` for those that run, at most `timeout` seconds."""
        with self._submitting:
            self._ended = True
            if cancel_futures:
                self._cancel()
            self._release()
        if wait:
            join(self._workers, timeout)

    def _cancel(self) -> None:
        while True:
            try:
                call = self._calls.get_nowait()
            except Empty:
                return
            if call:
                call[0].cancel()

    def _release(self) -> None:
        for _ in self._workers:
            self._calls.put(None)

    def __del__(self) -> None:
        self._release()  # without the lock, which cannot be released in a process that was forked while it was held


def _work(calls: "SimpleQueue[_Call | None]", waiting: threading.Semaphore) -> None:
    while (call := calls.get()) is not None:
        future, function = call
        if future.set_running_or_notify_cancel():
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        del call, future, function  # else they live until the next call
        waiting.release()


class BackgroundLoop:
    """An event loop in a thread of its own, for plain code in any thread."""

    def __init__(self, name: str) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(DaemonThreads(_BLOCKING_CALLS, f"{name}-calls"))
        self._starting = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name=name, daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, Result]) -> "Future[Result]":
        """Start a coroutine; cancelling the future cancels it. Raises CancelledError after `close`."""
        with self._starting:
            if not self._closing:
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        raise CancelledError

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end, or until the caller is interrupted; raises CancelledError if `close` ends it."""
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self, last: Callable[[], Coroutine[Any, Any, None]], timeout: float | None = None) -> None:
        """Cancel all tasks, run a last coroutine and end the thread, waiting at most `timeout` seconds; once.

        An error of the coroutine is raised.
        """
        with self._starting:
            if self._closing:
                return
            self._closing = True
            ending = asyncio.run_coroutine_threadsafe(_end(last), self._loop)
        ending.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self._loop.stop))
        join([self._thread], timeout)
        if ending.done() and (error := ending.exception()):
            raise error


_BLOCKING_CALLS = 8
"""Threads for blocking calls of a loop, such as looking up the address of a host."""


async def _end(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await last()
    await asyncio.get_running_loop().shutdown_asyncgens()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def join(threads: list[threading.Thread], timeout: float | None) -> None:
    """Wait for threads other than the caller's, at most `timeout` seconds for all of them."""
    end = None if timeout is None else time.monotonic() + timeout
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
