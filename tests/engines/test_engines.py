"""Every engine applies functions to all items, and returns the results in order."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lightrag_dagster.engines.choice import map_rows, open_engine
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.errors import EngineError


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


def count(rows: pa.Table) -> int:
    return int(rows.num_rows)


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


@pytest.mark.parametrize("rows", [0, 1, 7, 100])
def test_the_parts_of_a_table_are_the_table(engine: Engine, rows: int) -> None:
    counts = map_rows(engine, count, pa.table({"id": list(range(rows))}), 10)
    assert sum(counts) == rows
    assert len(counts) <= max(engine.workers, 1)


def test_other_processes_do_the_work() -> None:
    with ProcessEngine(2) as engine:
        assert os.getpid() not in engine.map(process, range(2))
        assert engine.map(process, [0]) == [os.getpid()]


def end_once(marker: Path) -> int:
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return os.getpid()


def test_what_a_killed_worker_held_is_done_again(tmp_path: Path) -> None:
    with ProcessEngine(2) as engine:
        assert len(engine.map(end_once, [tmp_path / "1", tmp_path / "2"])) == 2


def test_workers_that_are_always_killed_are_an_error() -> None:
    with ProcessEngine(2) as engine, pytest.raises(EngineError, match=r"killed 3 times while 2 of 2 parts"):
        engine.map(end, range(2))
