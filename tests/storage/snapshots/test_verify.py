"""Damage of a published snapshot is found, file by file, and the next build replaces what is damaged."""

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.indexes.cypher import build_graph
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import waiting_for_locks
from lightrag_dagster.storage.manifests import FileSum, PublishedFiles
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import GRAPH, GRAPH_RECORD, Generation
from lightrag_dagster.storage.snapshots.repair import remove_damaged
from lightrag_dagster.storage.snapshots.verify import FILES, find_damage
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.storage.corpus import OFFICE, RIVER, build, copy_of, home_of, merge, publish, write_source

KINDS = {
    "merged table": "generations/*/entities.parquet",
    "source table": "tables/chunks/river/*.parquet",
    "graph": "generations/*/graph.kuzu",
    "adjacency array": "generations/*/adjacency/endpoints.npy",
    "adjacency table": "generations/*/adjacency/chunks.arrow",
    "vectors": "lance/entity_vectors-*.lance/data/*.lance",
    "vector version": "lance/entity_vectors-*.lance/_versions/*.manifest",
    "manifest": "generations/*/manifest.json",
    "inputs": "generations/*/generation.json",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    home = home_of(tmp_path_factory.mktemp("built"), river=RIVER, office=OFFICE)
    generation = asyncio.run(build(merge(home, "river", "office")))
    publish(generation)
    return generation


@pytest.fixture
def generation(built: Generation, tmp_path: Path) -> Generation:
    return copy_of(built, tmp_path)


def recorded(generation: Generation, kind: str) -> Path:
    """Return a file of a kind that the snapshot reads."""
    names = generation.path(FILES).read_text()
    found = generation.home.root.glob(KINDS[kind])
    return next(path for path in found if kind == "graph" or str(path.relative_to(generation.home.root)) in names)


def flip(path: Path, place: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def test_a_sound_snapshot_has_no_damage(generation: Generation) -> None:
    assert find_damage(generation.home, generation.id) == []
    assert find_damage(generation.home, generation.id, verify=True) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_byte_is_found(generation: Generation, kind: str) -> None:
    path = recorded(generation, kind)
    flip(path)
    if kind not in ("manifest", "inputs"):  # which are read in any case
        assert find_damage(generation.home, generation.id) == []
    (found,) = find_damage(generation.home, generation.id, verify=True)
    assert found.path in (path, path.parent)
    assert "content" in found.reason or "damaged record" in found.reason


@pytest.mark.parametrize("kind", ["merged table", "source table", "graph", "adjacency array", "vectors"])
def test_a_truncated_or_missing_file_is_found_without_reading(generation: Generation, kind: str) -> None:
    path = recorded(generation, kind)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    [found] = find_damage(generation.home, generation.id)
    assert str(found) == f"{path} has {size - 1} bytes, and was published with {size}"
    path.unlink()
    assert [*map(str, find_damage(generation.home, generation.id))] == [f"{path} is missing"]


@pytest.mark.parametrize("name", ["manifest.json", "generation.json", "vectors.json", FILES])
def test_a_record_that_is_missing_or_damaged_is_found(generation: Generation, name: str) -> None:
    generation.path(name).unlink()
    assert [*map(str, find_damage(generation.home, generation.id))] == [f"{generation.path(name)} is missing"]
    generation.path(name).write_text("{")
    (found,) = find_damage(generation.home, generation.id)
    assert name in str(found)


@pytest.mark.long
def test_what_killed_writes_left_is_no_part_of_a_snapshot(generation: Generation) -> None:
    for table in generation.home.lance.glob("*.lance"):
        indexes = [path for path in (table / "_indices").glob("*") if path.is_dir()]
        for folder in (table / "data", table / "_deletions", table / "_versions", *indexes):
            folder.mkdir(exist_ok=True)
            (folder / ".tmpD8zu40").write_bytes(b"half")
    second = asyncio.run(build(merge(generation.home, "river")))
    publish(second)
    for left in generation.home.lance.rglob(".tmp*"):
        left.unlink()
    assert find_damage(second.home, second.id, verify=True) == []


@pytest.mark.long
def test_other_versions_are_no_part_of_a_snapshot(generation: Generation) -> None:
    home = generation.home
    write_source(home, "office", {"new.md": [["Oslo", "Weir"]], **OFFICE})
    second = asyncio.run(build(merge(home, "river", "office")))
    publish(second)
    assert [find_damage(home, one.id, verify=True) for one in (generation, second)] == [[], []]
    collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
    assert find_damage(home, second.id, verify=True) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    ["source table", *(pytest.param(one, marks=pytest.mark.long) for one in ("merged table", "vectors", "manifest"))],
)
def test_the_next_build_replaces_what_was_removed(generation: Generation, kind: str) -> None:
    home = generation.home
    path = recorded(generation, kind)
    flip(path)
    remove_damaged(home, generation.id, find_damage(home, generation.id, verify=True))

    assert snapshots.published_snapshot(home) is None
    missing = SourceTables(home).current("chunks", "river") is None
    assert missing == (kind == "source table")
    for source, documents in {"river": RIVER, "office": OFFICE}.items():
        write_source(home, source, documents)
    again = asyncio.run(build(merge(home, "river", "office")))
    assert publish(again).snapshot_id == again.id == generation.id
    assert find_damage(home, again.id, verify=True) == []


@pytest.mark.long
def test_a_missing_vector_table_is_written_again(generation: Generation) -> None:
    home = generation.home
    (lance,) = home.lance.glob("relation_vectors-*.lance")
    shutil.rmtree(lance)
    remove_damaged(home, generation.id, find_damage(home, generation.id))
    publish(asyncio.run(build(merge(home, "river", "office"))))
    assert find_damage(home, generation.id, verify=True) == []


@pytest.mark.long
def test_readers_get_the_latest_sound_snapshot(generation: Generation) -> None:
    home = generation.home
    second = asyncio.run(build(merge(home, "river")))
    publish(second)
    third = asyncio.run(build(merge(home, "office")))
    publish(third)
    second.path("graph.kuzu").unlink()
    flip(third.path("entities.parquet"))
    remove_damaged(home, third.id, find_damage(home, third.id, verify=True))
    current = snapshots.published_snapshot(home)
    assert current is not None
    assert current.snapshot_id == second.id  # only its graph is damaged, and the next run builds that


def test_a_damaged_table_of_a_running_ingestion_is_left_to_it(generation: Generation) -> None:
    path = recorded(generation, "source table")
    flip(path)
    found = find_damage(generation.home, generation.id, verify=True)
    with (
        ThreadPoolExecutor(1) as thread,
        ingesting(generation.home, "river", 0),
        waiting_for_locks(0),
        pytest.raises(BuilderLockedError, match="is ingesting source 'river'"),
    ):
        thread.submit(copy_context().run, remove_damaged, generation.home, generation.id, found).result()
    assert path.exists()
    assert path.with_name("current.json").exists()
    remove_damaged(generation.home, generation.id, found)
    assert not path.exists()


def test_a_held_snapshot_is_not_removed(generation: Generation) -> None:
    home = generation.home
    snapshots.rollback(home, generation.id)
    path = recorded(generation, "merged table")
    flip(path)
    with pytest.raises(StoreError, match=r"entities\.parquet has other content .* is held; .*release"):
        remove_damaged(home, generation.id, find_damage(home, generation.id, verify=True))
    assert path.exists()


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", [GRAPH, GRAPH_RECORD])
def test_of_a_damaged_graph_nothing_else_is_removed(generation: Generation, name: str, held: bool) -> None:
    home = generation.home
    if held:
        snapshots.rollback(home, generation.id)
    generation.path(name).write_text("{")
    (found,) = find_damage(home, generation.id)
    assert found.path == generation.path(name)
    remove_damaged(home, generation.id, [found])

    assert find_damage(home, generation.id, verify=True) == []
    assert [one.id for one in [snapshots.without_graph(home)] if one] == [generation.id]
    build_graph(generation)
    assert snapshots.without_graph(home) is None
    assert find_damage(home, generation.id, verify=True) == []


def test_a_source_keeps_what_was_accepted(generation: Generation) -> None:
    home = generation.home
    before = accepted(home, "river")
    flip(recorded(generation, "source table"))
    remove_damaged(home, generation.id, find_damage(home, generation.id, verify=True))
    assert accepted(home, "river") == before


@pytest.mark.long
def test_hashes_of_files_that_two_snapshots_read_are_kept(generation: Generation) -> None:
    home = generation.home
    second = asyncio.run(build(merge(home, "river")))
    # Near the beginning: rows are counted by the footer, which stays readable.
    flip(recorded(generation, "source table"), 0.05)
    snapshots.publish(Home(home.root), second, [])
    (found,) = find_damage(home, second.id, verify=True)
    assert found.path == recorded(generation, "source table")


@pytest.mark.long
def test_of_a_file_that_was_built_again_the_new_hash_is_recorded(generation: Generation) -> None:
    home = generation.home
    rebuilt = recorded(generation, "source table")
    pq.write_table(pq.read_table(rebuilt, partitioning=None), rebuilt, compression="gzip")  # of other bytes
    (lance,) = home.lance.glob("relation_vectors-*.lance")
    shutil.rmtree(lance)  # and so its first version is written again
    second = asyncio.run(build(merge(home, "river")))
    written = [*lance.glob("_versions/*.manifest"), *lance.glob("_refs/tags/*.json")]
    assert len(written) >= 2
    listed = generation.read_record(FILES, PublishedFiles)
    wrong = {"sha256": "0" * 64}
    as_large = {str(path.relative_to(home.root)): FileSum.of(path).model_copy(update=wrong) for path in written}
    generation.write_record(FILES, PublishedFiles(files=listed.files | as_large))
    publish(second)
    assert find_damage(home, second.id, verify=True) == []
