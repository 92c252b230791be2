import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import pytest

from lightrag_dagster.core.in_time import map_in_order, map_in_time


def test_every_item_comes_with_its_result() -> None:
    assert dict(map_in_time(lambda item: item * 2, range(20), at_once=3)) == {item: item * 2 for item in range(20)}
    assert list(map_in_time(str, [], at_once=3)) == []


def test_so_many_are_worked_on_at_a_time() -> None:
    together = threading.Barrier(3)
    assert len(list(map_in_time(lambda _: together.wait(60), range(6), at_once=3))) == 6


def test_what_takes_long_holds_up_nothing_else() -> None:
    held = threading.Event()

    def look(name: str) -> str:
        if name == "dead":
            held.wait(60)
        return name

    with closing(map_in_time(look, ["dead", "a", "b"], at_once=2, seconds=60)) as found:
        assert [name for name, _ in islice(found, 2)] == ["a", "b"]
    held.set()


def test_what_takes_longer_is_left_out_and_the_rest_is_not_begun() -> None:
    begun, held = list[str](), threading.Event()

    def look(name: str) -> None:
        begun.append(name)
        held.wait(60)

    assert list(map_in_time(look, ["dead", "never"], at_once=1, seconds=0.01)) == []
    held.set()
    assert begun in ([], ["dead"])


def test_an_error_is_raised() -> None:
    known: dict[str, int] = {}
    with pytest.raises(KeyError, match="x"):
        list(map_in_time(known.__getitem__, ["x"], at_once=2))


def test_an_error_that_says_that_time_is_over_is_raised_as_well() -> None:
    def fail(_: int) -> None:
        raise TimeoutError("of the function")

    with pytest.raises(TimeoutError, match="of the function"):
        list(map_in_time(fail, [1], at_once=2, seconds=60))


@pytest.mark.parametrize(("threads", "at_once"), [(1, 1), (2, 2), (3, 3)])
def test_results_come_in_order_and_as_many_are_made_at_a_time_as_there_are_threads(threads: int, at_once: int) -> None:
    """Each call waits until as many have begun as are to be under way."""
    meet = threading.Barrier(at_once)

    def double(number: int) -> int:
        meet.wait(20)
        return 2 * number

    assert list(map_in_order(double, range(6), threads, ahead=threads)) == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("threads", [1, 2])
def test_no_more_items_are_taken_than_results_may_wait(threads: int) -> None:
    taken = list[int]()

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with closing(map_in_order(str, items(), threads, ahead=5)) as found:
        assert next(found) == "0"
    assert len(taken) == (1 if threads == 1 else 6)


def test_a_thread_that_hangs_keeps_no_process_from_ending() -> None:
    code = "import time; from lightrag_dagster.core.in_time import map_in_time\n"
    code += "assert list(map_in_time(lambda _: time.sleep(1000), [1], 1, 0.01)) == []"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
