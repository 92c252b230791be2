"""What other processes do in the tests of engines; it imports little, since each of them imports it."""

import os
from pathlib import Path
from typing import Any

from lightrag_dagster.errors import SettingsError


def square(number: int) -> int:
    return number * number


def process(_: Any) -> int:
    return os.getpid()


def fail(number: int) -> int:
    if number == 2:
        raise ValueError("two")
    return number


def end(_: int) -> None:
    os._exit(1)


def count(rows: Any) -> int:
    return int(rows.num_rows)


class Counter:
    """Something slow to make: it tells who made it, and counts its calls."""

    made = 0

    def __init__(self, marker: Path) -> None:
        Counter.made += 1
        self.marker = marker
        self.calls = 0


def count_call(counter: Counter, number: int) -> tuple[int, int, int]:
    if number == 2:
        raise ValueError("two")
    counter.calls += 1
    return os.getpid(), Counter.made, counter.calls


def fail_to_make() -> Counter:
    raise SettingsError("there is no model")


def end_once(marker: Path) -> int:
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return os.getpid()


def end_the_first_time(counter: Counter, number: int) -> tuple[int, int]:
    """Kill the actor at its second call, unless it was started again."""
    counter.calls += 1
    if counter.calls == 2:
        end_once(counter.marker)
    return number, os.getpid()


def always_end(kept: object, number: int) -> None:
    os._exit(1)
