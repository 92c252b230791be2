"""Ray on this machine; it takes seconds to start, so one test holds everything."""

from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.engines.choice import map_rows, open_engine
from tests.engines.test_engines import count, end_once, fail, square
from tests.stages.merging.tables import Summariser, chunk, entity, merged_from, relation, write

ROOT = Path(__file__).parents[2]


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
        merged = merged_from(inputs, tmp_path, Summariser(), bits=1, engine=engine)
    assert merged == merged_from(inputs, tmp_path, Summariser())
