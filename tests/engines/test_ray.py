"""Ray on this machine; it takes seconds to start, and each of its processes to import what it calls."""

import asyncio
import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import sleep

import numpy as np
import pyarrow as pa
import pytest

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.errors import EngineError, SettingsError
from lightrag_dagster.models.providers import open_plain_embedder
from tests.engines.parts import (
    Counter,
    always_end,
    count,
    count_call,
    end_once,
    end_the_first_time,
    fail,
    fail_to_make,
    square,
)
from tests.models.local.models import TEXTS, TINY, settings_for
from tests.stages.merging.tables import Summariser, chunk, entity, merged_from, relation, write

ROOT = Path(__file__).parents[2]


async def keeping(engine: Engine, folder: Path) -> None:
    """One machine without a GPU has one actor, which is started again when it is killed, and its call repeated."""
    with engine.keep(partial(Counter, folder / "killed")) as kept:
        made = await gather_or_cancel(kept.call(end_the_first_time, number) for number in range(4))
        assert [number for number, _ in made] == [0, 1, 2, 3]
        assert len({process for _, process in made} - {os.getpid()}) == 2
        with pytest.raises(ValueError, match="two"):
            await kept.call(count_call, 2)
    assert (folder / "killed").exists()


async def giving_up(engine: Engine) -> None:
    """An actor that cannot be made, or ends at each call, is an error."""
    with engine.keep(fail_to_make) as missing, pytest.raises(SettingsError, match="there is no model"):
        await missing.call(count_call, 1)
    with engine.keep(object) as kept, pytest.raises(EngineError, match="a part was lost 3 times"):
        await kept.call(always_end, 0)


async def embedding(engine: Engine) -> None:
    """A model in an actor gives the vectors that it gives here."""
    settings = settings_for(TINY / "onnx" / "model.onnx")
    async with open_plain_embedder(settings, engine=engine) as there, open_plain_embedder(settings) as here:
        made = await gather_or_cancel(there.embed_documents([text]) for text in TEXTS)
        np.testing.assert_array_equal(np.concatenate(made), await here.embed_documents(TEXTS))
        unread = await there.unread(TEXTS)
        assert unread == await here.unread(TEXTS)
        assert [length > 0 for length in unread] == [True, False, False, True, True]


@pytest.mark.long
def test_each_gpu_has_an_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ray = pytest.importorskip("ray")
    ray.init("local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False)

    async def devices() -> list[tuple[int, str | None]]:
        with open_engine("ray") as engine, engine.keep(object) as kept:
            return await gather_or_cancel(kept.call(device_of, number) for number in range(6))

    try:
        assert {device for _, device in asyncio.run(devices())} == {"0", "1"}
    finally:
        ray.shutdown()


def device_of(_: object, number: int) -> tuple[int, str | None]:
    sleep(0.1)  # so that the other one takes the next call
    return number, os.environ.get("CUDA_VISIBLE_DEVICES")


@pytest.mark.long
def test_parts_are_done_and_what_a_killed_process_held_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the workers import functions of these tests
    with open_engine("ray") as engine:
        assert engine.map(square, range(5)) == [0, 1, 4, 9, 16]
        with pytest.raises(ValueError, match="two"):
            engine.map(fail, range(5))
        assert len(engine.map(end_once, [tmp_path / "1", tmp_path / "2"])) == 2
        asyncio.run(keeping(engine, tmp_path))


@pytest.mark.long
def test_rows_merge_and_models_embed_as_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    places = [("a", f"{number}.txt", 0, f"c{number}") for number in range(8)]
    entities = [entity("a", f"c{number}", 0, f"Name {number % 3}", "thing", f"fact {number}") for number in range(8)]
    relations = [relation("a", f"c{number}", 0, "Name 0", f"Name {number % 3}", "k", "x") for number in range(8)]
    inputs = write(tmp_path, [chunk(*place) for place in places], entities, relations)
    with open_engine("ray") as engine:
        assert engine.map(count, [pa.table({"id": list(range(20))})] * 2) == [20, 20]
        asyncio.run(giving_up(engine))
        if find_spec("onnxruntime"):  # the extra `onnx`
            asyncio.run(embedding(engine))
        merged = merged_from(inputs, tmp_path, Summariser(), bits=1, engine=engine)
    assert merged == merged_from(inputs, tmp_path, Summariser())
