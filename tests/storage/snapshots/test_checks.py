"""Files of a snapshot are compared with what was published when they are loaded; the fault of another is told apart."""

import errno
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from pathlib import Path

import pytest

from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import FileSum
from lightrag_dagster.storage.records import write_record
from lightrag_dagster.storage.snapshots import checks
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import GRAPH
from lightrag_dagster.storage.snapshots.snapshots import require_published
from lightrag_dagster.storage.snapshots.verify import FILES, record_files


@pytest.fixture
def home(published_home: Path, tmp_path: Path) -> Home:
    return Home(Path(shutil.copytree(published_home, tmp_path / "home")))


@pytest.fixture
def generation(home: Home) -> Iterator[CheckedGeneration]:
    found = CheckedGeneration.of(home, require_published(home).snapshot_id, beside=True)
    with closing(found.checks):
        yield found


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def load_arrays(generation: CheckedGeneration) -> None:
    generation.checks.require_folder(generation.path("."))


def load_vectors(generation: CheckedGeneration) -> None:
    (folder,) = generation.home.lance.glob("entity_vectors-*.lance")
    generation.checks.require_folder(folder)


def load_table(generation: CheckedGeneration) -> None:
    assert generation.read_table("entities").num_rows


def load_graph(generation: CheckedGeneration) -> None:
    generation.checks.require([generation.path(GRAPH)])


def load_and_wait(load: Callable[[CheckedGeneration], None], generation: CheckedGeneration) -> None:
    load(generation)
    generation.checks.wait()


@pytest.mark.parametrize(
    ("pattern", "load"),
    [
        ("generations/*/adjacency/chunks.arrow", load_arrays),
        ("generations/*/generation.json", load_arrays),
        ("lance/entity_vectors-*/data/*", load_vectors),
        ("generations/*/entities.parquet", load_table),
        ("generations/*/graph.kuzu", load_graph),
    ],
)
@pytest.mark.parametrize(("at_once", "damage"), [(64 << 20, flip), (0, flip), (64 << 20, Path.unlink)])
def test_a_damaged_file_is_refused_when_it_is_loaded(
    generation: CheckedGeneration,
    pattern: str,
    load: Callable[[CheckedGeneration], None],
    at_once: int,
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", at_once)
    (path,) = generation.home.root.glob(pattern)
    damage(path)
    with pytest.raises(StoreError, match=str(path)):
        load_and_wait(load, generation)
    with pytest.raises(
        StoreError, match=f"{path} (is missing|has other content than when it was published); .*--verify"
    ):
        generation.checks.wait()
    with pytest.raises(StoreError, match=str(path)), generation.checks.guard():
        raise AssertionError("it goes on with a damaged file")


def test_a_caller_that_does_not_look_again_waits(
    generation: CheckedGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 0)
    waiting = CheckedGeneration.of(generation.home, generation.id)
    (path,) = generation.home.root.glob("generations/*/entities.parquet")
    flip(path)
    with pytest.raises(StoreError, match=str(path)):
        waiting.table_files("entities")


def test_a_file_that_the_machine_refused_is_checked_when_it_is_loaded_again(
    generation: CheckedGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 0)
    (path,) = generation.home.root.glob("generations/*/entities.parquet")

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as machine:
        machine.setattr(Path, "open", refuse)
        generation.checks.require([path])
        with pytest.raises(StoreError, match="Too many open files"):
            generation.checks.wait()
    flip(path)
    generation.checks.require([path])
    with pytest.raises(StoreError, match=f"{path} has other content"):
        generation.checks.wait()


def test_sound_files_are_read_once(generation: CheckedGeneration) -> None:
    for load in (load_arrays, load_vectors, load_table, load_graph):
        load(generation)
    generation.checks.wait(10.0)
    (path,) = generation.home.root.glob("generations/*/entities.parquet")
    flip(path)
    load_table(generation)  # it was sound when it was loaded


@pytest.mark.parametrize(
    "error", [IndexError("list"), ValueError("x"), MemoryError(), UnicodeDecodeError("a", b"", 0, 1, "")]
)
def test_an_error_of_others_is_damage_only_if_a_file_is_damaged(
    generation: CheckedGeneration, error: Exception
) -> None:
    load_arrays(generation)
    with pytest.raises(type(error)), generation.checks.guard():
        raise error


def test_a_snapshot_whose_next_publication_was_killed_before_its_manifest_is_sound(
    generation: CheckedGeneration, tmp_path: Path
) -> None:
    manifest = require_published(generation.home)
    write_record(tmp_path / "next", manifest.model_copy(update={"sequence": manifest.sequence + 1}))
    record_files(generation.home, manifest, None, tmp_path / "next")
    load_arrays(generation)


def test_damage_after_loading_is_found_by_the_error_that_it_makes(generation: CheckedGeneration) -> None:
    load_arrays(generation)
    (path,) = generation.home.root.glob("generations/*/adjacency/endpoints.npy")
    flip(path)
    with generation.checks.guard():
        pass  # what is in memory may still be sound
    with pytest.raises(StoreError, match=str(path)) as caught, generation.checks.guard():
        raise IndexError("index 9 is out of bounds")
    assert isinstance(caught.value.__cause__ or caught.value.__context__, IndexError)


@pytest.mark.parametrize(
    "error", [QueryError("no such mode"), StoreError("not built yet"), CancelledError("ended"), TimeoutError("late")]
)
def test_our_own_errors_make_nobody_read_files(generation: CheckedGeneration, error: Exception) -> None:
    load_arrays(generation)
    (path,) = generation.home.root.glob("generations/*/adjacency/endpoints.npy")
    flip(path)
    with pytest.raises(type(error), match=str(error)), generation.checks.guard():
        raise error


def test_a_fault_of_our_own_reads_the_files_once_a_minute(
    generation: CheckedGeneration, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_arrays(generation)
    read = list[Path]()

    def sum_of(path: Path) -> FileSum:
        read.append(path)
        return generation.checks._files[str(path.relative_to(generation.home.root))]

    monkeypatch.setattr(FileSum, "of", sum_of)
    for _ in range(3):
        with pytest.raises(KeyError), generation.checks.guard():
            raise KeyError("ours")
    assert len(read) == len(set(read)) > 30


def test_a_snapshot_without_hashes_is_refused(home: Home) -> None:
    snapshot_id = require_published(home).snapshot_id
    (home.generation(snapshot_id) / FILES).unlink()
    with pytest.raises(StoreError, match=f"{FILES} is missing; .*--verify"):
        CheckedGeneration.of(home, snapshot_id)


def test_a_file_that_is_not_listed_is_refused(generation: CheckedGeneration) -> None:
    shutil.copy(generation.path("entities.parquet"), generation.path("other.parquet"))
    with pytest.raises(StoreError, match=r"other\.parquet has other content"):
        generation.checks.require([generation.path("other.parquet")])
