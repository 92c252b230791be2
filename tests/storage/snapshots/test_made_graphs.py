"""The graph database is kept for the published snapshot; that of an older one is made again by who asks."""

import os
import shutil
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.graph import build_graph
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.retention import collect_after_publication
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, release, rollback
from tests.buckets import S3Server
from tests.cli.test_cli import command
from tests.end_to_end.test_purge import purge
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source

CYPHER = "MATCH (c:Chunk) RETURN count(c) AS chunks"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a home with two snapshots, of one chunk and of two, each published with its graph."""
    folder = tmp_path_factory.mktemp("graphs")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    write_source(settings, "office", {"office.txt": OFFICE})
    build(settings, graph=True)
    return settings


@pytest.fixture
def settings(scene: Settings, tmp_path: Path) -> Settings:
    """Settings of a copy of it, with a cache of its own."""
    home, sources = (shutil.copytree(one, tmp_path / one.name) for one in (scene.home, scene.sources))
    return scene.changed(home=home, sources=sources, cache={"folder": tmp_path / "cache"})


def with_graph(home: Home) -> list[str]:
    """Return the snapshots that have a file of a graph, in order of publication."""
    return [one.snapshot_id for one in list_snapshots(home) if list(home.generation(one.snapshot_id).glob("graph.*"))]


def chunks_of(settings: Settings, snapshot_id: str) -> int:
    """Return what Cypher says of a snapshot."""
    with KnowledgeBase.open(snapshot_id=snapshot_id, settings=settings) as knowledge:
        (row,) = knowledge.cypher(CYPHER)
        return int(row["chunks"])


def made(settings: Settings) -> list[Path]:
    return sorted(settings.cache.folder.glob("*/graphs/*.kuzu"))


def test_the_published_snapshot_alone_keeps_its_graph(settings: Settings) -> None:
    home = Home(settings.home)
    first, second = [one.snapshot_id for one in list_snapshots(home)]
    assert with_graph(home) == [second]
    with building(home, 0) as lock:
        rollback(home, first, lock)
        assert collect_after_publication(home, settings.retention) is None
        assert with_graph(home) == [second], "the newest one may be released"
        build_graph(settings)
        release(home, lock)


def test_a_graph_that_is_read_stays(settings: Settings) -> None:
    home, before = Home(settings.home), published(settings).snapshot_id
    reader = open_snapshot(home, before)
    write_source(settings, "office", {"office.txt": OFFICE, "flood.txt": FLOOD})
    build(settings, graph=True)
    after = published(settings).snapshot_id
    assert with_graph(home) == [before, after]
    reader.close()
    with building(home, 0):
        (graph,) = collect_garbage(home, settings.retention, dry_run=True).graphs
        assert with_graph(home) == [before, after]
        removed = collect_garbage(home, settings.retention, dry_run=False)
    assert (graph.id, removed.bytes_removed > 1_000_000) == (before, True)
    assert with_graph(home) == [after]


def test_that_of_an_older_one_is_made_once_in_the_cache(settings: Settings) -> None:
    home = Home(settings.home)
    first, second = [one.snapshot_id for one in list_snapshots(home)]
    before = {path: path.stat().st_mtime_ns for path in home.root.rglob("*")}

    assert (chunks_of(settings, second), made(settings)) == (2, [])
    assert chunks_of(settings, first) == 1

    (graph,) = made(settings)
    assert graph.name == f"{first}.kuzu"
    written = graph.stat().st_mtime_ns
    assert chunks_of(settings, first) == 1
    assert graph.stat().st_mtime_ns == written
    assert before == {path: path.stat().st_mtime_ns for path in home.root.rglob("*")}


@pytest.mark.long
def test_the_least_recently_used_ones_go(settings: Settings) -> None:
    first = list_snapshots(Home(settings.home))[0].snapshot_id
    chunks_of(settings, first)
    (graph,) = made(settings)
    old, recent = graph.with_name("gen-old.kuzu"), graph.with_name("gen-recent.kuzu")
    half_made = graph.with_name(".graph.kuzu.killed")
    half_made.mkdir()
    (half_made / "Entity.parquet").write_bytes(b"half")
    graph.rename(old)
    shutil.copy(old, recent)
    os.utime(old, (time.time() - 7200, time.time()))

    chunks_of(settings.changed(cache={"folder": settings.cache.folder, "max_gb": graph_gb(old)}), first)

    assert made(settings) == sorted([graph, recent])
    assert not half_made.exists()


def graph_gb(graph: Path) -> float:
    return graph.stat().st_size / 1e9


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(0, id="nothing", marks=pytest.mark.long),
        pytest.param(8192, id="a part"),
        pytest.param(None, id="other bytes", marks=pytest.mark.long),
    ],
)
def test_a_damaged_one_is_made_again(settings: Settings, left: int | None) -> None:
    first = list_snapshots(Home(settings.home))[0].snapshot_id
    chunks_of(settings, first)
    (graph,) = made(settings)
    whole = graph.read_bytes()
    graph.write_bytes(whole[::-1] if left is None else whole[:left])
    assert chunks_of(settings, first) == 1
    assert graph.stat().st_size >= len(whole)


def test_a_cache_that_cannot_be_written_is_named(settings: Settings) -> None:
    settings.cache.folder.write_text("a file")
    with pytest.raises(StoreError, match=r"cannot write the cache .*change cache\.folder"):
        chunks_of(settings, list_snapshots(Home(settings.home))[0].snapshot_id)


@pytest.mark.long
def test_commands_ask_older_snapshots_and_go_back_to_them(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = list_snapshots(Home(settings.home))[0].snapshot_id
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    monkeypatch.setenv("LIGHTRAG_CACHE__FOLDER", str(settings.cache.folder))

    code, said, errors = command(capfd, monkeypatch, "cypher", CYPHER, "--snapshot", first, "--format", "csv")
    assert (code, said) == (0, "chunks\n1\n"), errors
    shutil.rmtree(settings.cache.folder)
    assert command(capfd, monkeypatch, "rollback", first)[0] == 0
    assert command(capfd, monkeypatch, "cypher", CYPHER, "--format", "csv")[1] == "chunks\n1\n"
    assert made(settings) == []


def test_without_a_graph_all_but_cypher_answers(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, without = Home(settings.home), settings.changed(dagster={"without": ("published_graph",)})
    write_source(settings, "office", {"office.txt": OFFICE, "flood.txt": FLOOD})
    build(without)
    assert not build_graph(without).has("graph.json")
    assert with_graph(home) == []
    first, *_, last = [one.snapshot_id for one in list_snapshots(home)]
    state = pending(Situation.looking(without))
    assert state.graph == "left out"
    assert pending(Situation.looking(settings)).graph == "not built yet"
    with KnowledgeBase.open(settings=without) as knowledge:
        assert knowledge.path("Halden Weir", "Bergen")
        with pytest.raises(
            StoreError,
            match=rf"graph of {last} is left out: .* dagster\.without names published_graph; take that out, and",
        ):
            knowledge.cypher(CYPHER)
    with pytest.raises(StoreError, match=rf"graph of {first} is left out"):
        chunks_of(without, first)
    assert made(settings) == []
    for name, value in {"HOME": settings.home, "SOURCES": settings.sources}.items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", str(value))
    monkeypatch.setenv("LIGHTRAG_DAGSTER__WITHOUT", '["published_graph"]')
    assert "graph: left out" in command(capfd, monkeypatch, "status")[1]


@pytest.mark.long
def test_a_purge_removes_what_readers_made(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(settings.home)
    chunks_of(settings, list_snapshots(home)[0].snapshot_id)
    (graph,) = made(settings)
    shutil.rmtree(settings.sources / "notes")
    after = settings.changed(documents={"accept_deletes": True})
    build(after, graph=True)
    purge(after, monkeypatch, "notes")
    assert not graph.parent.exists()


@pytest.mark.long
def test_a_reader_of_a_bucket_makes_what_was_removed_while_it_was_open(
    settings: Settings, buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    def on_machine(name: str) -> Settings:
        return settings.changed(home=uri, database=postgres, cache={"folder": tmp_path / name})

    uri = Path(buckets.new_bucket())
    shutil.rmtree(settings.sources / "office")
    build(on_machine("builder"), graph=True)
    with KnowledgeBase.open(settings=on_machine("reader")) as knowledge:
        write_source(settings, "office", {"office.txt": OFFICE})
        build(on_machine("builder"), graph=True)
        assert knowledge.cypher(CYPHER) == [{"chunks": 1}]
        assert len(made(on_machine("reader"))) == 1
        assert chunks_of(on_machine("other"), published(on_machine("builder")).snapshot_id) == 2
    assert made(on_machine("other")) == []
