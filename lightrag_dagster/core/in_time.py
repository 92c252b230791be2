"""Work in threads, some of which may never end, such as one that looks at a dead network disk."""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_time(
    function: Callable[[Item], Result], items: Sequence[Item], at_once: int, seconds: float | None = None
) -> Generator[tuple[Item, Result]]:
    """Yield each item and its result as they come, a number at a time, until the seconds are over.

    Results that have not come by then are left out; their threads continue, and keep no process from ending. An error
    of the function ends the rest as well, and is raised.
    """
    waiting: SimpleQueue[Item] = SimpleQueue()
    done: SimpleQueue[tuple[Item, Callable[[], Result]]] = SimpleQueue()
    for item in items:
        waiting.put(item)

    def work() -> None:
        while True:
            try:
                item = waiting.get_nowait()
            except Empty:
                return
            done.put((item, _outcome(function, item)))

    for number in range(min(at_once, len(items))):
        threading.Thread(target=work, name=f"lightrag-in-time-{number}", daemon=True).start()
    end = None if seconds is None else time.monotonic() + seconds
    try:
        for _ in items:
            item, result = done.get(timeout=None if end is None else max(0.0, end - time.monotonic()))
            yield item, result()
    except Empty:
        return
    finally:
        _drop_all(waiting)


def _outcome(function: Callable[[Item], Result], item: Item) -> Callable[[], Result]:
    """Do the work, and return a function that returns its result or raises its error."""
    try:
        result = function(item)
    except BaseException as error:
        raised = error

        def fail() -> Result:
            raise raised

        return fail
    return lambda: result


def _drop_all(queue: SimpleQueue[Item]) -> None:
    try:
        while True:
            queue.get_nowait()
    except Empty:
        return
