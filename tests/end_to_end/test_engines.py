"""Wherever the work is done and the files are, the same sources give the same knowledge base."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.engines import processes
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.engines.ray import RayEngine
from lightrag_dagster.indexes import embedding_batches, vector_index
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.merging import parts as merging
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from tests.buckets import S3Server
from tests.machines import serving_machines
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source

DECISIONS = """
- {merge: [Marta Lindqvist, Jonas Feld], into: Marta Lindqvist}
- {split: Station 14, into: Station 14 (office), paths: [office.*]}
- {retype: Bergen, type: city}
- {add: Ulla Berg, type: person, text: She keeps the archive.}
"""
SCOPES = {"open": {"sources": ["notes"]}, "office": {"paths": ["office*", "copy*"]}}
QUESTIONS: dict[str, ModeName] = {
    "Who maintains the gauge at Halden Weir?": "mix",
    "Bergen": "local",
    "What did the flood damage?": "naive",
}
SHARD_STEPS = {"_read_shard", "_chunk_shard", "_extract_in_worker", "_parse_shard"}
OTHERS = {"_embed_rows"}
STEPS = {"deal", "group_entities", "deal_degrees", "group_relations", "finish"}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home that one process made, on a disk."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "names.yaml").write_text(DECISIONS)
    settings = load_settings(home=folder / "home", sources=folder / "sources", curation=folder / "names.yaml")
    settings = settings.changed(scopes=SCOPES)
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    write_source(settings, "office", {"copy.md": FLOOD})
    build(settings, graph=True)
    return settings


@pytest.fixture(scope="module")
def machines(_buckets: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a Ray cluster of two machines, and their folder."""
    folder = tmp_path_factory.mktemp("machines")
    with serving_machines(folder, 2, _buckets.environment) as address:
        yield address, folder


@pytest.fixture(autouse=True)
def _work_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROWS", 1)
    monkeypatch.setattr(embedding_batches, "_TEXTS_A_WORKER", 4)
    monkeypatch.setattr(merging, "ROWS_PER_PART", 5)
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 10)


def assert_same(settings: Settings, expected: Settings) -> None:
    """Compare what is published, whole and in each scope."""
    _assert_same(settings, expected)
    for scope in SCOPES:
        _assert_same(settings.within(scope), expected.within(scope))
    assert len({published(settings.within(scope)).snapshot_id for scope in SCOPES}) == len(SCOPES)


def _assert_same(settings: Settings, expected: Settings) -> None:
    assert published(settings).snapshot_id == published(expected).snapshot_id
    assert snapshot_contents(settings) == snapshot_contents(expected)
    with KnowledgeBase.open(settings=settings) as one, KnowledgeBase.open(settings=expected) as other:
        for question, mode in QUESTIONS.items():
            assert one.query(question, mode=mode).text == other.query(question, mode=mode).text
            assert one.context(question, mode=mode) == other.context(question, mode=mode)


def name_of(function: Any) -> str:
    return str(getattr(function, "func", function).__name__)


@pytest.fixture
def _workers_that_stay(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let all steps of a build have the same two workers; those of each step would take a second or two to start."""
    pools: list[ProcessPoolExecutor] = []

    class Staying(ProcessPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            """Stay."""

    def one_for_all(workers: int, context: BaseContext) -> ProcessPoolExecutor:
        if not pools:
            pools.append(Staying(workers, context))
        return pools[0]

    monkeypatch.setattr(processes, "ProcessPoolExecutor", one_for_all)
    yield
    for pool in pools:
        ProcessPoolExecutor.shutdown(pool)


@pytest.mark.long  # each step is held by its own tests with processes
@pytest.mark.usefixtures("_workers_that_stay")
def test_processes_build_what_one_process_builds(
    local: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, apply = Counter[str](), ProcessEngine.map

    def counted(engine: ProcessEngine, function: Any, items: Any) -> Any:
        results = apply(engine, function, items)
        sizes[name_of(function)] = max(sizes[name_of(function)], len(results))
        return results

    monkeypatch.setattr(ProcessEngine, "map", counted)
    built = local.changed(home=tmp_path / "processes", engine="processes")
    build(built, graph=True)
    assert {name for name, size in sizes.items() if size > 1} >= {*OTHERS, *SHARD_STEPS, *STEPS}
    assert_same(built, local)


@pytest.mark.long
def test_ray_builds_on_a_disk_what_one_process_builds(
    local: Settings, machines: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", machines[0])
    ray = local.changed(home=tmp_path / "ray", engine="ray")
    build(ray, graph=True)
    assert_same(ray, local)


@pytest.fixture
def in_bucket(
    local: Settings, buckets: S3Server, postgres: SecretStr, machines: tuple[str, Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:  # fmt: skip
    """Settings of an empty home in a bucket, built by a cluster whose machines share nothing else."""
    monkeypatch.setenv("RAY_ADDRESS", machines[0])
    monkeypatch.setattr(merging, "_SMALL_ROWS", 0)
    cache = {"folder": tmp_path / "driver"}
    return local.changed(home=Path(buckets.new_bucket()), database=postgres, cache=cache, engine="ray")


@pytest.mark.long
def test_machines_that_share_a_bucket_alone_build_what_one_process_builds(
    local: Settings, in_bucket: Settings, buckets: S3Server, machines: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, sizes, apply = Home.of(in_bucket).root, Counter[str](), RayEngine.map

    def without_the_disk(engine: RayEngine, function: Any, items: Any) -> Any:
        todo = list(items)
        if len(todo) == 1:
            return apply(engine, function, todo)
        sizes[name_of(function)] = max(sizes[name_of(function)], len(todo))
        away = root.rename(root.with_name("away"))
        try:
            return apply(engine, function, todo)
        finally:
            assert not root.exists()
            away.rename(root)

    monkeypatch.setattr(RayEngine, "map", without_the_disk)
    assert build(in_bucket, graph=True).failed == {}
    assert sizes.keys() >= {*OTHERS, *SHARD_STEPS, *STEPS}
    assert_same(in_bucket, local)
    assert list(machines[1].glob("*/cache/*/*/scratch/*/summary.parquet")), "the machines have caches of their own"
    assert not [key for key in buckets.keys(str(Home.of(in_bucket).bucket)) if "scratch" in key]
    assert not list(root.glob("scratch/*"))


@pytest.mark.long
@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize("file", ["/entity_evidence/", "/end_degree/", "/relation_group-", "/entities-"])
def test_a_worker_killed_midway_changes_nothing(
    local: Settings, in_bucket: Settings, buckets: S3Server, file: str, served: bool
) -> None:
    lock, killed = threading.Lock(), list[int]()

    def kill(environ: dict[str, Any]) -> bool:
        """Kill the worker that is the first to write such a file."""
        if environ["REQUEST_METHOD"] != "PUT" or "/scratch/" not in environ["PATH_INFO"]:
            return False
        with lock:
            if killed or file not in environ["PATH_INFO"]:
                return False
            port = int(environ["REMOTE_PORT"])
            killed.append(next(one.pid for one in psutil.net_connections("tcp") if one.pid and one.laddr.port == port))
            assert killed[0] != os.getpid()
            os.kill(killed[0], signal.SIGKILL)
        return not served

    buckets.failing = kill
    build(in_bucket, graph=True)
    assert len(killed) == 1
    assert_same(in_bucket, local)
