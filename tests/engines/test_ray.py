"""Ray on this machine; it takes seconds to start, so one test holds everything."""

import asyncio
import os
from functools import partial
from pathlib import Path
from unittest.mock import ANY

import pyarrow as pa
import pytest

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.engines.choice import map_rows, open_engine
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.errors import EngineError, SettingsError
from tests.engines.test_engines import Counter, count, count_call, end_once, fail, fail_to_make, square
from tests.stages.merging.tables import Summariser, chunk, entity, merged_from, relation, write

ROOT = Path(__file__).parents[2]


def end_the_first_time(counter: Counter, number: int) -> tuple[int, int]:
    """Kill the actor at its third call, unless it was started again."""
    counter.calls += 1
    if counter.calls == 3:
        end_once(counter.marker)
    return number, os.getpid()


def always_end(counter: Counter, number: int) -> None:
    os._exit(1)


async def keeping(engine: Engine, folder: Path) -> None:
    """One machine without a GPU has one actor, which is started again when it is killed, and its call repeated."""
    with engine.keep(partial(Counter, folder / "killed")) as kept:
        assert [await kept.call(end_the_first_time, 7) for _ in range(2)] == [(7, ANY), (7, ANY)]
        made = await gather_or_cancel(kept.call(end_the_first_time, number) for number in range(4))
        assert [number for number, _ in made] == [0, 1, 2, 3]
        assert os.getpid() not in {process for _, process in made}
        with pytest.raises(ValueError, match="two"):
            await kept.call(count_call, 2)
        with pytest.raises(EngineError, match="a part was lost 3 times"):
            await kept.call(always_end, 0)
    assert (folder / "killed").exists()
    with engine.keep(fail_to_make) as missing, pytest.raises(SettingsError, match="there is no model"):
        await missing.call(count_call, 1)


def test_ray_does_what_every_engine_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the workers import functions of these tests
    places = [("a", f"{number}.txt", 0, f"c{number}") for number in range(8)]
    entities = [entity("a", f"c{number}", 0, f"Name {number % 3}", "thing", f"fact {number}") for number in range(8)]
    relations = [relation("a", f"c{number}", 0, "Name 0", f"Name {number % 3}", "k", "x") for number in range(8)]
    inputs = write(tmp_path, [chunk(*place) for place in places], entities, relations)
    with open_engine("ray") as engine:
        assert engine.map(square, range(5)) == [0, 1, 4, 9, 16]
        assert sum(map_rows(engine, count, pa.table({"id": list(range(40))}), 10)) == 40
        with pytest.raises(ValueError, match="two"):
            engine.map(fail, range(5))
        assert len(engine.map(end_once, [tmp_path / "1", tmp_path / "2"])) == 2
        asyncio.run(keeping(engine, tmp_path))
        merged = merged_from(inputs, tmp_path, Summariser(), bits=1, engine=engine)
    assert merged == merged_from(inputs, tmp_path, Summariser())
