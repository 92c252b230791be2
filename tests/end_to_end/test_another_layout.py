"""A home that another version of this package wrote: nothing is asked again, and the same content is published."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.take_over import take_over
from tests.conftest import pointing_to
from tests.layouts import as_another_layout
from tests.loopback import Loopback
from tests.models.models import offline_answer
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

ROOT = Path(__file__).parents[2]
CONFIGURATION = {
    "llm": {"provider": "openai", "model": "gpt-4o-mini"},
    "embedding": {"provider": "openai", "dimensions": 64},
    "merging": {"summary_min_descriptions": 2},
}
SAID = "has the layout of another version of this package; `lightrag-dagster run` takes it over"


class Scene(NamedTuple):
    """A home of another layout with two snapshots, of which the older one is held, and what the newer one contains."""

    settings: Settings
    contents: dict[str, Any]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Scene:
    folder = tmp_path_factory.mktemp("layouts")
    (folder / "lightrag.yaml").write_text(yaml.safe_dump(CONFIGURATION))
    with pointing_to(_server) as monkeypatch:
        monkeypatch.setenv("LIGHTRAG_CONFIG", str(folder / "lightrag.yaml"))
        _server.chat, _server.dimensions = offline_answer, 64
        settings = load_settings(home=folder / "home", sources=folder / "sources")
        write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
        write_source(settings, "gone", {"office.txt": OFFICE})
        first = build(settings).states.manifest
        assert first is not None
        write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})
        shutil.rmtree(settings.sources / "gone")  # and is still published
        build(settings, graph=True)
    contents, home = snapshot_contents(settings), Home(settings.home)
    snapshots.pin(home, "audit", first.snapshot_id)
    snapshots.rollback(home, first.snapshot_id)
    as_another_layout(home)
    return Scene(settings, contents)


@pytest.fixture
def settings(scene: Scene, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a copy of the home, and a provider."""
    monkeypatch.setenv("LIGHTRAG_CONFIG", str(scene.settings.sources.parent / "lightrag.yaml"))
    loopback.chat, loopback.dimensions = offline_answer, 64
    shutil.copytree(scene.settings.home, tmp_path / "home", symlinks=True)
    return scene.settings.model_copy(update={"home": tmp_path / "home"})


def refuses(settings: Settings) -> None:
    with pytest.raises(StoreError, match=SAID):
        KnowledgeBase.open(settings=settings)
    with pytest.raises(StoreError, match=SAID):
        pending(Situation.looking(settings))
    with pytest.raises(StoreError, match=SAID):
        make_plan(settings)
    with pytest.raises(StoreError, match=SAID), building(Home(settings.home), 0):
        pytest.fail("nothing may be built")


@pytest.mark.long
def test_a_run_takes_it_over_asks_nothing_and_publishes_the_same(
    scene: Scene, settings: Settings, loopback: Loopback
) -> None:
    refuses(settings)

    outcome = run(settings)

    assert outcome.failed == {}
    assert loopback.requests == []
    assert snapshot_contents(settings) == scene.contents
    assert published(settings).sequence == 3
    (said, *_) = outcome.tidied
    assert said.startswith("removed, since this version cannot read them: the snapshots of another version of this")
    assert {path.name for path in (settings.home / "generations").glob("gen-*/manifest.json")} == {"manifest.json"}
    assert run(settings).ingested == []


@pytest.mark.long
@pytest.mark.parametrize("table", ["raw_documents", "chunks", "extractions", "parsed"])
def test_a_table_that_cannot_be_taken_over_is_made_again(
    scene: Scene, settings: Settings, loopback: Loopback, table: str
) -> None:
    for path in Home(settings.home).source_table(table, "notes").glob("*.parquet"):
        other_type(path)
    if table in ("raw_documents", "extractions"):
        with pytest.raises(StoreError, match=rf"{table}/notes cannot be taken over \(.*\); go back to"):
            run(settings)
        refuses(settings)
        shutil.rmtree(Home(settings.home).source_table(table, "notes"))

    assert run(settings).failed == {}
    assert loopback.requests == []
    assert snapshot_contents(settings) == scene.contents


def other_type(path: Path) -> None:
    """Give all columns of a table a type that cannot be cast to today's."""
    rows = pq.ParquetFile(path).read()
    path.unlink()
    pq.write_table(
        pa.table({name: [{"was": str(one)} for one in rows[name].to_pylist()] for name in rows.column_names}), path
    )


@pytest.mark.long
def test_outdated_rows_summaries_and_vectors_stay_until_a_backfill(
    scene: Scene, settings: Settings, loopback: Loopback
) -> None:
    now = settings.changed(llm={"model": "another"}, embedding={"model": "another"})

    outcome = run(now)

    assert loopback.requests == []
    assert outcome.outdated == {"notes": 2}
    assert outcome.states.outdated == ["summaries", "vectors"]
    assert snapshot_contents(now)["entities"] == scene.contents["entities"]


def test_killed_between_its_merge_and_its_publication_it_keeps_them_too(
    settings: Settings, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = settings.changed(llm={"model": "another"}, embedding={"model": "another"})
    assert take_over(Home(now.home), 0) != []
    with monkeypatch.context() as patched:
        patched.setattr("lightrag_dagster.pipeline.publish.publish", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            build(now)
    assert snapshots.published_snapshot(Home(now.home)) is None
    assert take_over(Home(now.home), 0) == []
    build(now)
    assert loopback.requests == []
    assert published(now).sequence == 3


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def victim(settings: Settings, step: int, moment: str) -> subprocess.CompletedProcess[str]:
    arguments = [str(settings.home), str(settings.sources), str(step), moment, "take_over"]
    command = [sys.executable, "-m", "tests.end_to_end.victim", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.long  # the quick one is killed between its merge and its publication
@pytest.mark.parametrize("seed", range(40))
def test_killed_anywhere_it_is_taken_over_by_the_next_run(
    scene: Scene, settings: Settings, loopback: Loopback, tmp_path: Path, seed: int
) -> None:
    undisturbed = settings.model_copy(update={"home": tmp_path / "undisturbed"})
    shutil.copytree(settings.home, undisturbed.home, symlinks=True)
    ended = victim(undisturbed, 0, "after")
    assert ended.returncode == 0, ended.stderr
    chance, backwards = random.Random(seed), ended.stdout.splitlines()[::-1]
    before_the_last = len(backwards) - 1 - backwards.index("replace:FORMAT")

    killed = victim(settings, chance.randint(1, before_the_last), chance.choice(["before", "during", "after"]))

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    refuses(settings)
    take_over(Home(settings.home), 0)
    assert build(settings, graph=True).failed == {}
    assert loopback.requests == []
    assert snapshot_contents(settings) == scene.contents
    assert published(settings).sequence == 3


@pytest.mark.long  # tests/cli/test_backup.py restores quickly
def test_a_backup_is_restored_as_it_is_and_taken_over_by_the_next_run(
    scene: Scene, settings: Settings, loopback: Loopback, tmp_path: Path
) -> None:
    take_over(Home(settings.home), 0)
    build(settings)
    back_up(Home(settings.home), str(tmp_path / "backup"), 0)
    record = tmp_path / "backup" / "records" / "FORMAT"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"layout": "another"}))
    restored = settings.model_copy(update={"home": tmp_path / "restored"})
    restore(str(tmp_path / "backup"), Home(restored.home), 0)
    refuses(restored)
    take_over(Home(restored.home), 0)
    build(restored, graph=True)
    assert loopback.requests == []
    assert snapshot_contents(restored) == scene.contents
