"""A large graph is built after its snapshot is published: until then questions are answered, and Cypher is not."""

import json
import os
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline import graph
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.pipeline.graph import build_published_graph
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.publish import check_published
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, release, rollback
from lightrag_dagster.storage.snapshots.verify import find_damage
from tests.buckets import S3Server
from tests.cli.test_cli import command
from tests.end_to_end.test_purge import purge
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

QUESTION = "Who maintains the gauge at Halden Weir?"
CYPHER = "MATCH (c:Chunk) RETURN count(c) AS chunks"


@pytest.fixture(autouse=True)
def every_graph_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "ROWS_BEFORE_PUBLICATION", 0)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of a home with two snapshots; the first has a graph, the second has none yet."""
    folder = tmp_path_factory.mktemp("large")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings, graph=True)
    write_source(settings, "office", {"office.txt": OFFICE})
    return publish_without_graph(settings)


def publish_without_graph(settings: Settings) -> Settings:
    """Publish as a run that is killed between the pointer and the graph; return the settings."""
    assert build(settings).published is not None
    return settings


@pytest.fixture
def settings(scene: Settings, tmp_path: Path) -> Settings:
    """Settings of a copy of it."""
    return scene.changed(home=Path(shutil.copytree(scene.home, tmp_path / "home")))


@pytest.mark.long
def test_the_snapshot_answers_and_the_next_run_builds_its_graph(settings: Settings) -> None:
    home, manifest = Home(settings.home), published(settings)
    assert pending(Situation.looking(settings)).graph == "not built yet"
    assert check_published(home) == []
    assert find_damage(home, manifest.snapshot_id, verify=True) == []
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve(QUESTION).entities
        with pytest.raises(StoreError, match=rf"the graph of {manifest.snapshot_id} is not built yet; .*dagster run`"):
            knowledge.cypher(CYPHER)

        outcome = run(settings)

        assert (outcome.graph_built, outcome.published, outcome.cost_usd) == (True, None, 0.0)
        assert knowledge.cypher(CYPHER) == [{"chunks": 3}]
    assert published(settings) == manifest
    assert pending(Situation.looking(settings)).graph == "built"
    assert not run(settings).graph_built
    assert check_published(home) == []
    assert find_damage(home, manifest.snapshot_id, verify=True) == []


@pytest.mark.long
def test_a_run_through_dagster_publishes_first(settings: Settings) -> None:
    fresh = settings.changed(home=settings.home / "fresh")
    outcome = run(fresh)
    assert outcome.published is not None
    assert pending(Situation.looking(fresh)).graph == "built"
    folder = Home(fresh.home).generation(outcome.published.snapshot_id)
    assert (folder / "manifest.json").stat().st_mtime_ns < (folder / "graph.json").stat().st_mtime_ns


@pytest.mark.long  # a whole run
def test_commands_say_that_the_graph_is_not_built(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(settings.sources))
    assert "\ngraph: not built yet" in command(capfd, monkeypatch, "status")[1]
    status = json.loads(command(capfd, monkeypatch, "status", "--json")[1])
    assert (status["graph"], status["snapshot_id"]) == ("not built yet", published(settings).snapshot_id)
    assert {name: one["state"] for name, one in status["sources"].items()} == {
        "notes": "published",
        "office": "published",
    }
    code, _, errors = command(capfd, monkeypatch, "cypher", CYPHER)
    assert (code, errors.count("\n")) == (2, 1)
    assert "is not built yet; `lightrag-dagster run`" in errors

    code, said, _ = command(capfd, monkeypatch, "run")
    assert (code, f"Built the graph of {published(settings).snapshot_id}." in said) == (0, True)
    assert "graph: not built yet" not in command(capfd, monkeypatch, "status")[1]
    assert json.loads(command(capfd, monkeypatch, "status", "--json")[1])["graph"] == "built"
    assert command(capfd, monkeypatch, "cypher", CYPHER, "--format", "csv")[1] == "chunks\n3\n"


@pytest.mark.long
def test_rolling_back_leaves_a_large_graph_to_the_next_run(
    settings: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(settings.home))
    home = Home(settings.home)
    first = Generation(home, list_snapshots(home)[0].snapshot_id)
    for name in ("graph.json", "graph.kuzu"):
        first.path(name).unlink(missing_ok=True)
    assert command(capfd, monkeypatch, "rollback", first.id)[0] == 0
    assert not first.has("graph.json")
    monkeypatch.setattr(graph, "ROWS_BEFORE_PUBLICATION", 100)
    assert command(capfd, monkeypatch, "rollback", first.id)[0] == 0
    assert first.has("graph.json")


@pytest.mark.long
def test_a_rollback_to_a_snapshot_without_graph_makes_it_pending(settings: Settings) -> None:
    home, without = Home(settings.home), published(settings).snapshot_id
    write_source(settings.changed(sources=settings.home / "sources"), "notes", {"river.md": RIVER})
    after = settings.changed(sources=settings.home / "sources", documents={"accept_deletes": True})
    build(after, graph=True)
    assert pending(Situation.looking(after)).graph == "built"
    with building(home, 0) as lock:
        rollback(home, without, lock)
    assert pending(Situation.looking(after)).graph == "not built yet"
    run(after)
    assert pending(Situation.looking(after)).graph == "built"
    assert published(after).snapshot_id == without
    assert Generation(home, without).has("graph.json")
    with building(home, 0) as lock:
        release(home, lock)
    assert pending(Situation.looking(after)).graph == "built"


@pytest.mark.long
def test_a_damaged_graph_is_built_again_and_nothing_else(settings: Settings) -> None:
    build_published_graph(Home(settings.home))
    before, graph = snapshot_contents(settings), Generation(Home(settings.home), published(settings).snapshot_id)
    os.truncate(graph.path("graph.kuzu"), 100)
    tables = graph.path("entities.parquet").stat().st_ino

    outcome = run(settings)

    assert [str(graph.path("graph.kuzu")) in one for one in outcome.damaged] == [True]
    assert (outcome.published, outcome.graph_built) == (None, True)
    assert snapshot_contents(settings) == before
    assert graph.path("entities.parquet").stat().st_ino == tables
    assert run(settings).damaged == []


@pytest.mark.long
def test_what_a_killed_build_left_is_removed(settings: Settings) -> None:
    generation = Generation(Home(settings.home), published(settings).snapshot_id)
    generation.path(".graph.kuzu.killed").mkdir()
    generation.path(".graph.kuzu.killed/Entity.parquet").write_bytes(b"half")
    generation.path("graph.kuzu").write_bytes(b"whole, but its record is missing")
    assert find_damage(generation.home, generation.id, verify=True) == []
    build_published_graph(generation.home)
    assert not generation.has(".graph.kuzu.killed")
    assert check_published(generation.home) == []


@pytest.mark.long
def test_gc_and_backup_take_a_snapshot_without_graph_as_it_is(settings: Settings, tmp_path: Path) -> None:
    home, snapshot_id = Home(settings.home), published(settings).snapshot_id
    collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
    assert [one.snapshot_id for one in list_snapshots(home)] == [snapshot_id]
    back_up(home, str(tmp_path / "backup"), 0)
    restored = settings.changed(home=tmp_path / "restored")
    restore(str(tmp_path / "backup"), Home(restored.home), 0)
    assert find_damage(Home(restored.home), snapshot_id, verify=True) == []
    assert pending(Situation.looking(restored)).graph == "not built yet"
    for one in (settings, restored):
        run(one)
        assert find_damage(Home(one.home), snapshot_id, verify=True) == []
    assert snapshot_contents(restored) == snapshot_contents(settings)


@pytest.mark.long
def test_a_purge_before_the_graph_is_built_leaves_nothing_to_mend(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = settings.changed(sources=settings.home / "sources", documents={"accept_deletes": True})
    write_source(after, "notes", {"river.md": RIVER})
    write_source(after, "office", {"office.txt": OFFICE})
    publish_without_graph(after)
    assert "Removed 2 snapshots" in purge(after, monkeypatch, "notes/flood.txt")
    assert pending(Situation.looking(after)).graph == "not built yet"
    assert run(after).graph_built
    assert find_damage(Home(after.home), published(after).snapshot_id, verify=True) == []


@pytest.mark.long
def test_in_a_bucket_every_machine_sees_whether_the_graph_is_built(
    settings: Settings, buckets: S3Server, postgres: SecretStr, tmp_path: Path
) -> None:
    def on_machine(name: str) -> Settings:
        return settings.changed(home=uri, database=postgres, cache={"folder": tmp_path / name})

    uri = Path(buckets.new_bucket())
    publish_without_graph(on_machine("first"))
    with KnowledgeBase.open(settings=on_machine("reader")) as knowledge:
        assert knowledge.retrieve(QUESTION).entities
        with pytest.raises(StoreError, match="is not built yet"):
            knowledge.cypher(CYPHER)
        assert pending(Situation.looking(on_machine("second"))).graph == "not built yet"
        build_published_graph(Home.of(on_machine("second")))
        assert knowledge.cypher(CYPHER) == [{"chunks": 3}]
    third = on_machine("third")
    assert pending(Situation.looking(third)).graph == "built"
    assert find_damage(Home.of(third), published(third).snapshot_id, verify=True) == []
    assert check_published(Home.of(third)) == []
