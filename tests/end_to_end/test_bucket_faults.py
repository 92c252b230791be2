"""Killed builders, a Postgres that restarts and readers in between: a bucket holds the right snapshot, or the last."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.database.engine import postgres_engine
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from tests.buckets import S3Server
from tests.postgres import new_schema, serving_postgres
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

ROOT = Path(__file__).parents[2]
QUESTION = "Who maintains the gauge at Halden Weir?"
BUILD = """
import sys
from pathlib import Path
from lightrag_dagster.settings import load_settings
from tests.support import build
build(load_settings(home=Path(sys.argv[1]), sources=Path(sys.argv[2]), cache={"folder": sys.argv[3]}), graph=True)
"""
WRITES = 97


class AtWrite:
    """Does something when the server gets its nth request that writes, which is then `served` or answered with 503.

    With `key`, counted are the writes of objects whose key ends so.
    """

    def __init__(self, step: int, act: Callable[[], None], *, served: bool = True, key: str = "") -> None:
        self.seen = 0
        self._step = step
        self._act = act
        self._served = served
        self._key = key
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any]) -> bool:
        if environ["REQUEST_METHOD"] in ("GET", "HEAD") or not environ["PATH_INFO"].endswith(self._key):
            return False
        with self._lock:
            self.seen += 1
            due = self.seen == self._step
            if due:
                self._act()
        return due and not self._served


@pytest.fixture
def settings(buckets: S3Server, postgres: SecretStr, tmp_path: Path) -> Settings:
    """Settings of a home in a bucket whose published snapshot is older than its sources."""
    made = load_settings(
        home=Path(buckets.new_bucket()),
        sources=tmp_path / "sources",
        database=postgres,
        cache={"folder": tmp_path / "first"},
    )
    write_source(made, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(made, graph=True)
    change(made)
    return made


def change(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})


def elsewhere(settings: Settings, folder: Path) -> Settings:
    return settings.changed(cache={"folder": folder})


def victim_of(settings: Settings) -> subprocess.Popen[bytes]:
    assert settings.database is not None
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, *map(str, (settings.home, settings.sources, settings.cache.folder))],
        env=os.environ | {"LIGHTRAG_DATABASE": settings.database.get_secret_value()},
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )


def kill_at(settings: Settings, buckets: S3Server, folder: Path, step: int, *, served: bool, key: str = "") -> None:
    """Build on the machine `victim`, and kill that at a write."""
    victim = victim_of(elsewhere(settings, folder / "victim"))
    fault = AtWrite(step, victim.kill, served=served, key=key)
    buckets.failing = fault
    _, said = victim.communicate(timeout=120)
    buckets.failing = lambda environ: False
    assert victim.returncode == -signal.SIGKILL, (fault.seen, said.decode())


def assert_whole(settings: Settings, folder: Path) -> None:
    """What is published equals what a clean build on a disk publishes, and none of it is damaged."""
    clean = settings.changed(home=folder / "clean", database=None)
    build(clean, graph=True)
    with KnowledgeBase.open(settings=elsewhere(settings, folder / "last reader")) as knowledge:
        assert knowledge.snapshot_id == published(clean).snapshot_id
        knowledge.cypher("MATCH (n) RETURN count(n)")
        assert knowledge.query(QUESTION).retrieval.references
    assert find_published_damage(Home.of(elsewhere(settings, folder / "last reader")), verify=True) == []


@pytest.mark.long  # test_crashes.py kills one on a disk, and test_session.py holds the order of the writes
@pytest.mark.parametrize("seed", range(30))
def test_a_builder_killed_at_any_write_leaves_nothing_to_mend(
    settings: Settings, buckets: S3Server, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    before = published(settings).snapshot_id
    kill_at(settings, buckets, tmp_path, chance.randint(1, WRITES), served=chance.random() < 0.5)
    with KnowledgeBase.open(settings=elsewhere(settings, tmp_path / "reader")) as knowledge:
        found = knowledge.snapshot_id
        assert knowledge.query(QUESTION).retrieval.references
    # The machine of the victim comes back, or another one takes over.
    taking_over = elsewhere(settings, tmp_path / chance.choice(("victim", "other")))
    build(taking_over, graph=True)
    assert found in (before, published(taking_over).snapshot_id)
    assert_whole(settings, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("served", [False, True])
@pytest.mark.parametrize("machine", ["victim", "other"])
@pytest.mark.parametrize(
    "record", ["raw_documents/notes/current.json", "generation.json", "manifest.json", "records/PUBLISHED"]
)
def test_a_builder_killed_at_a_record_leaves_nothing_to_mend(
    settings: Settings, buckets: S3Server, tmp_path: Path, record: str, machine: str, served: bool
) -> None:
    before = published(settings).snapshot_id
    kill_at(settings, buckets, tmp_path, 1, served=served, key=record)
    with KnowledgeBase.open(settings=elsewhere(settings, tmp_path / "reader")) as knowledge:
        assert (knowledge.snapshot_id == before) is not (served and record == "records/PUBLISHED")
        assert knowledge.query(QUESTION).retrieval.references
    build(elsewhere(settings, tmp_path / machine), graph=True)
    assert_whole(settings, tmp_path)


@pytest.mark.long
def test_a_build_has_as_many_writes_as_kills_assume(settings: Settings, buckets: S3Server) -> None:
    fault = AtWrite(0, lambda: None)
    buckets.failing = fault
    build(settings, graph=True)
    assert abs(fault.seen - WRITES) < 10, "change WRITES"


@pytest.mark.long
@pytest.mark.parametrize("step", [3, 15, 30, 40, 50, 58])
def test_a_postgres_that_restarts_midway_ends_in_a_retry_or_one_line(
    buckets: S3Server, tmp_path: Path, step: int
) -> None:
    with serving_postgres() as server:
        settings = load_settings(
            home=Path(buckets.new_bucket()),
            sources=tmp_path / "sources",
            database=SecretStr(server.url(new_schema())),
            cache={"folder": tmp_path / "first"},
        )
        change(settings)

        def restart() -> None:
            server.stop()
            server.start()

        fault = buckets.failing = AtWrite(step, restart)
        said = ""
        try:
            build(settings, graph=True)
        except StoreError as error:
            said = str(error)
        assert fault.seen >= step
        assert not said or "database" in said or "lock" in said
        buckets.failing = lambda environ: False
        build(settings, graph=True)
        assert_whole(settings, tmp_path)
        assert settings.database is not None
        postgres_engine(settings.database.get_secret_value()).dispose()


@pytest.mark.long
def test_readers_see_one_snapshot_through_publications_collections_and_a_slow_server(
    settings: Settings, buckets: S3Server, tmp_path: Path
) -> None:
    turn, ended = iter(range(1_000_000)), threading.Event()

    def unsteady(environ: dict[str, Any]) -> bool:
        number = next(turn)
        if number % 17 == 0:
            time.sleep(0.1)
        return number % 11 == 0 and "/lance" not in environ["PATH_INFO"]

    seen, wrong = set[str](), list[BaseException]()

    def read() -> None:
        reader = elsewhere(settings, tmp_path / "reader")
        while not ended.is_set():
            try:
                with KnowledgeBase.open(settings=reader) as knowledge:
                    answer = knowledge.query(QUESTION)
                    assert any(one.path == "river.md" for one in answer.retrieval.references)
                    seen.add(knowledge.snapshot_id)
            except StoreError as error:
                if "was removed" not in str(error):
                    wrong.append(error)
            except BaseException as error:
                wrong.append(error)

    ids = {published(settings).snapshot_id}
    keeping_one = settings.changed(retention={"snapshots": 1, "grace_days": 0})
    buckets.failing = unsteady
    reading = threading.Thread(target=read)
    reading.start()
    try:
        for number in range(4):
            write_source(settings, "notes", {"river.md": f"{RIVER} Sensor {number} was tested.", "flood.txt": FLOOD})
            build(settings, graph=True)
            ids.add(published(settings).snapshot_id)
            with building(Home.of(settings), 0):  # without the lock, manifests would go after the data
                collect_garbage(Home.of(settings), keeping_one.retention, dry_run=False)
    finally:
        ended.set()
        reading.join()
        buckets.failing = lambda environ: False
    assert wrong == []
    assert seen <= ids
    assert len(seen) > 1
