"""Work on many items in threads: results as they come within some time, or in the order of the items."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar

from lightrag_dagster.core.background import DaemonThreads

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_time(
    function: Callable[[Item], Result], items: Sequence[Item], at_once: int, seconds: float | None = None
) -> Generator[tuple[Item, Result]]:
    """Yield each item and its result as they come, a number at a time, until the seconds are over.

    Results that have not come by then are left out; their threads, which may look at a dead network disk, continue, and
    keep no process from ending. An error of the function ends the rest as well, and is raised.
    """
    threads = DaemonThreads(at_once, "lightrag-in-time")
    items_of = {threads.submit(function, item): item for item in items}
    done = as_completed(items_of, seconds)
    try:
        while True:
            try:
                future = next(done)
            except (StopIteration, TimeoutError):  # which the function may raise as well
                return
            yield items_of[future], future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, ahead: int
) -> Generator[Result]:
    """Yield the result of each item in order; several threads work on at most `ahead` further items meanwhile."""
    if threads == 1:
        yield from map(function, items)
        return
    waiting = deque[Future[Result]]()
    with ThreadPoolExecutor(threads, thread_name_prefix="lightrag-in-order") as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)
