"""I3, crash-proof: a run killed anywhere, and run again, ends as if nothing had happened."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
import yaml

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.pipeline import graph
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot, without_graph
from lightrag_dagster.storage.tables import shards
from tests.end_to_end.victim import LONG, WRITES
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

MOMENTS = ("before", "during", "after")
ROOT = Path(__file__).parents[2]
DECISIONS = [
    Decision(action="merge", names=("Marta Lindqvist", "Jonas Feld"), into="Marta Lindqvist"),
    Decision(action="remove", names=("Bergen",)),
    Decision(action="split", names=("Halden Weir",), into="Halden Weir (2020)", paths=("river.md",)),
    Decision(action="add", names=("Ulla Berg",), type="person", text="She keeps the archive."),
]


class Scene(NamedTuple):
    """A home with one snapshot, sources that have changed since, and what the next run must lead to."""

    before: Settings
    after: dict[str, object]
    writes: list[str]
    first: str
    second: str
    most_rows: int = graph.ROWS_BEFORE_PUBLICATION


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("crashes")
    prices = folder / "prices.csv"
    prices.write_text("id,name,price\n1,Gauge,12.5\n2,Sensor,40\n")
    stated = {"subject": "name", "relation": "price", "value": "price", "unit": "EUR"}  # a pass that asks no model
    sources = {"prices": {"uri": str(prices), "rows": {"text": "{name}: {price}", "facts": [stated]}}}
    (folder / "lightrag.yaml").write_text(yaml.safe_dump({"named_sources": sources}))
    settings = load_settings(home=folder / "home", sources=folder / "sources", named_sources=sources)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings, graph=True)
    first = published(settings).snapshot_id
    write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    prices.write_text("id,name,price\n1,Gauge,13\n2,Sensor,40\n")
    take(settings, DECISIONS)

    undisturbed = _copy(settings, folder / "undisturbed")
    writes = _writes(undisturbed, "build")
    assert published(undisturbed).rows["merged_facts"] == 2
    return Scene(settings, snapshot_contents(undisturbed), writes, first, published(undisturbed).snapshot_id)


@pytest.fixture(scope="module")
def through_dagster(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The same with the writes of a run through Dagster."""
    undisturbed = _copy(scene.before, tmp_path_factory.mktemp("dagster") / "home")
    return scene._replace(writes=_writes(undisturbed, "run"))


@pytest.mark.long  # with the next one; test_another_layout.py has a quick kill
def test_every_kind_of_write_that_is_watched_is_made(scene: Scene) -> None:
    assert set(map(_kind, scene.writes)) == set(WRITES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_run_leaves_nothing_to_mend(scene: Scene, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    _kill_and_run_again(scene, tmp_path, chance.randint(1, len(scene.writes)), chance.choice(MOMENTS))


@pytest.mark.long
@pytest.mark.parametrize(("moment", "snapshot"), [("before", "first"), ("after", "second")])
def test_a_run_killed_at_the_pointer_has_published_when_that_is_replaced(
    scene: Scene, tmp_path: Path, moment: str, snapshot: str
) -> None:
    _kill_and_run_again(scene, tmp_path, "replace:PUBLISHED", moment, found={getattr(scene, snapshot)})


@pytest.fixture(scope="module")
def large(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The same with a graph that is built after publication."""
    undisturbed = _copy(scene.before, tmp_path_factory.mktemp("large") / "home")
    return scene._replace(writes=_writes(undisturbed, "build", most_rows=0), most_rows=0)


@pytest.mark.long  # test_large_graphs.py holds the rule: there the kill is between the pointer and the graph
@pytest.mark.parametrize(
    ("write", "moment"),
    [(write, moment) for moment in MOMENTS for write in ("first", "middle", "last")]
    + [(f"replace:graph.{file}", moment) for moment in ("before", "after") for file in ("kuzu", "json")],
)
def test_a_run_killed_after_publication_leaves_a_snapshot_that_answers_and_a_graph_to_build(
    large: Scene, tmp_path: Path, write: str, moment: str
) -> None:
    """The graph's writes are CREATE, COPY and CHECKPOINT, the renamed file, its record."""
    steps = _steps(large, "graph")
    step = {"first": steps[0], "middle": steps[len(steps) // 2], "last": steps[-1]}.get(write, write)
    is_built = (write, moment) == ("replace:graph.json", "after")
    _kill_and_run_again(large, tmp_path, step, moment, found={large.second}, is_built=is_built)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(25))
def test_a_run_killed_while_it_cuts_a_source_into_shards_leaves_nothing_to_mend(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(shards, "ROWS", 1)
    chance = random.Random(2000 + seed)
    # The tables of the sources, which were one file each before, come first.
    _kill_and_run_again(scene, tmp_path, chance.randint(1, len(scene.writes) // 2), chance.choice(MOMENTS))


@pytest.mark.long
def test_a_run_killed_in_dagster_leaves_nothing_to_mend(scene: Scene, tmp_path: Path) -> None:
    _kill_and_run_again(scene, tmp_path, "replace:manifest.json", "before", "run", found={scene.first})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_killed_at_a_hundred_points(through_dagster: Scene, tmp_path: Path, seed: int) -> None:
    chance = random.Random(1000 + seed)
    step = chance.randint(1, len(through_dagster.writes))
    _kill_and_run_again(through_dagster, tmp_path, step, chance.choice(MOMENTS), "run")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "moment"), [(kind, moment) for moment in MOMENTS for kind in (LONG if moment == "during" else WRITES)]
)
def test_killed_inside_each_kind_of_write(through_dagster: Scene, tmp_path: Path, kind: str, moment: str) -> None:
    steps = _steps(through_dagster, kind)
    _kill_and_run_again(through_dagster, tmp_path, steps[len(steps) // 2], moment, "run")


def _steps(scene: Scene, kind: str) -> list[int]:
    return [number for number, write in enumerate(scene.writes, start=1) if _kind(write) == kind]


def _kind(write: str) -> str:
    return write.partition(":")[0]


def _kill_and_run_again(
    scene: Scene,
    folder: Path,
    step: int | str,
    moment: str,
    way: Literal["build", "run"] = "build",
    *,
    found: Collection[str] = (),
    is_built: bool = True,
) -> None:
    settings = _copy(scene.before, folder / "home")

    killed = _victim(settings, step, moment, way, scene.most_rows)

    assert killed.returncode == -signal.SIGKILL, f"{step} {moment}: {killed.stderr}"
    manifest = published_snapshot(Home(settings.home))
    assert manifest is not None
    assert manifest.snapshot_id in (found or (scene.first, scene.second))
    assert (without_graph(Home(settings.home)) is None) is is_built
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve("Who maintains the gauge at Halden Weir?", mode="mix").entities
    outcome = run(settings) if way == "run" else build(settings, graph=True)
    assert outcome.failed == {}
    assert published(settings).snapshot_id == scene.second
    assert snapshot_contents(settings) == scene.after


def _writes(settings: Settings, way: str, most_rows: int = graph.ROWS_BEFORE_PUBLICATION) -> list[str]:
    """Run undisturbed, and return what was written, in order."""
    ended = _victim(settings, 0, "after", way, most_rows)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def _victim(
    settings: Settings, step: int | str, moment: str, way: str, most_rows: int
) -> subprocess.CompletedProcess[str]:
    arguments = [str(settings.home), str(settings.sources), str(step), moment, way]
    command = [sys.executable, "-m", "tests.end_to_end.victim", *arguments]
    environment = os.environ | {
        "ROWS_BEFORE_PUBLICATION": str(most_rows),
        "ROWS_A_SHARD": str(shards.ROWS),
        "LIGHTRAG_CONFIG": str(settings.sources.parent / "lightrag.yaml"),
    }
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


def _copy(settings: Settings, home: Path) -> Settings:
    """Return the settings of a copy of a home, which reads the same sources."""
    shutil.copytree(settings.home, home)
    return settings.model_copy(update={"home": home})
