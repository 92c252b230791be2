import asyncio
import threading
from concurrent.futures import CancelledError
from threading import Barrier, Event

import pytest

from lightrag_dagster.core.background import BackgroundLoop, DaemonThreads


@pytest.fixture
def threads() -> DaemonThreads:
    return DaemonThreads(2, "test")


async def nothing() -> None:
    return None


def test_calls_return_and_raise_and_as_many_run_at_once_as_there_are_threads(threads: DaemonThreads) -> None:
    both = Barrier(2)
    first, second = threads.submit(both.wait, 30), threads.submit(both.wait, 30)
    assert {first.result(), second.result()} == {0, 1}
    assert list(threads.map(str, range(20))) == [str(number) for number in range(20)]
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 1, 0).result()
    running = [one for one in threading.enumerate() if one.name.startswith("test_")]
    assert len(running) == 2
    assert all(one.daemon for one in running)
    threads.shutdown()
    assert not any(one.is_alive() for one in running)


def test_the_end_waits_for_calls_that_run_and_cancels_those_that_do_not_run_yet(threads: DaemonThreads) -> None:
    started, going_on = Barrier(3), Event()
    running = [threads.submit(lambda: (started.wait(30), going_on.wait(30))) for _ in range(2)]
    waiting = threads.submit(str)
    started.wait(30)
    threads.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="test are shut down"):
        threads.submit(str)
    threads.shutdown(timeout=0.0)
    assert not any(one.done() for one in running)
    going_on.set()
    threads.shutdown()
    assert all(one.done() for one in running)


def test_threads_that_nobody_needs_any_more_end() -> None:
    threads = DaemonThreads(2, "dropped")
    (worker,) = {threads.submit(threading.current_thread).result()}
    del threads
    worker.join(30)
    assert not worker.is_alive()


def test_a_thread_of_the_pool_may_shut_it_down(threads: DaemonThreads) -> None:
    threads.submit(threads.shutdown).result(30)
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(str)


def test_a_loop_runs_what_any_thread_asks_for() -> None:
    loop = BackgroundLoop("test")
    assert loop.run(asyncio.sleep(0, "slept")) == "slept"
    assert loop.run(asyncio.to_thread(threading.current_thread)).daemon
    with pytest.raises(ZeroDivisionError):
        loop.run(asyncio.to_thread(divmod, 1, 0))
    loop.close(nothing)


def test_closing_a_loop_ends_what_runs_and_then_runs_the_last() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def last() -> None:
        ended.append("last")

    loop = BackgroundLoop("test")
    waiting = loop.start(wait())
    loop.run(nothing())
    loop.close(last)
    with pytest.raises(CancelledError):
        waiting.result()
    assert ended == ["waiting", "last"]
    loop.close(last)
    with pytest.raises(CancelledError):
        loop.run(nothing())
    assert ended == ["waiting", "last"]
    assert "test" not in {one.name for one in threading.enumerate()}


def test_what_the_last_raises_is_raised_and_the_thread_ends() -> None:
    async def last() -> None:
        raise ValueError("the ledger cannot be written")

    loop = BackgroundLoop("raising")
    with pytest.raises(ValueError, match="ledger"):
        loop.close(last)
    assert "raising" not in {one.name for one in threading.enumerate()}


def test_a_loop_whose_last_never_ends_is_left() -> None:
    going_on = Event()

    async def last() -> None:
        await asyncio.to_thread(going_on.wait)

    loop = BackgroundLoop("hanging")
    loop.close(last, timeout=0.0)
    (left,) = (one for one in threading.enumerate() if one.name == "hanging")
    going_on.set()
    left.join(30)
    assert not left.is_alive()


def test_a_cancelled_call_ends_in_the_loop() -> None:
    cancelled = Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    loop = BackgroundLoop("test")
    waiting = loop.start(wait())
    loop.run(nothing())
    waiting.cancel()
    assert cancelled.wait(30)
    loop.close(nothing)
