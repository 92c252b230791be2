"""Every engine applies functions to all items, and returns the results in order."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.errors import EngineError, SettingsError
from tests.engines.parts import Counter, count_call, end, end_once, fail, fail_to_make, process, square


@pytest.fixture(scope="module", params=["local", "processes"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(request.param) as opened:
        yield opened


def test_results_come_in_order(engine: Engine) -> None:
    assert engine.map(square, range(5)) == [0, 1, 4, 9, 16]
    assert engine.map(square, []) == []


def test_the_first_error_is_raised(engine: Engine) -> None:
    with pytest.raises(ValueError, match="two"):
        engine.map(fail, range(5))


async def calls(engine: Engine, make: Callable[[], Counter], numbers: Iterable[int]) -> list[tuple[int, int, int]]:
    with engine.keep(make) as kept:
        return await gather_or_cancel(kept.call(count_call, number) for number in numbers)


def test_what_is_kept_is_made_once_when_it_is_first_needed(engine: Engine, tmp_path: Path) -> None:
    Counter.made = 0
    with engine.keep(partial(Counter, tmp_path)):
        pass
    assert asyncio.run(calls(engine, partial(Counter, tmp_path), [])) == []
    assert Counter.made == 0
    made = asyncio.run(calls(engine, partial(Counter, tmp_path), [5, 6, 7]))
    assert made == [(os.getpid(), 1, number) for number in (1, 2, 3)]
    with pytest.raises(ValueError, match="two"):
        asyncio.run(calls(engine, partial(Counter, tmp_path), [1, 2, 3]))
    with pytest.raises(SettingsError, match="there is no model"):
        asyncio.run(calls(engine, fail_to_make, [1]))


def test_other_processes_do_the_work() -> None:
    with ProcessEngine(2) as engine:
        assert os.getpid() not in engine.map(process, range(2))
        assert engine.map(process, [0]) == [os.getpid()]


def test_what_a_killed_worker_held_is_done_again(tmp_path: Path) -> None:
    with ProcessEngine(2) as engine:
        assert len(engine.map(end_once, [tmp_path / "1", tmp_path / "2"])) == 2


@pytest.mark.long
def test_workers_that_are_always_killed_are_an_error() -> None:
    with ProcessEngine(2) as engine, pytest.raises(EngineError, match=r"killed 3 times while 2 of 2 parts"):
        engine.map(end, range(2))
