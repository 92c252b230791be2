"""Results that hold for a process."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from lightrag_dagster.core.holding import Once


def test_threads_that_come_first_together_get_one_result() -> None:
    made, together = list[int](), Barrier(4)

    @Once
    def make(number: int) -> int:
        time.sleep(0.02)
        made.append(number)
        return len(made)

    def come(_: int) -> int:
        together.wait()
        return make(7)

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(come, range(4))] == [1, 1, 1, 1]
    assert (make(7), make(8)) == (1, 2)
    make.cache_clear()
    assert make(7) == 3
