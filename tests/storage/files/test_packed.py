"""Files that are compressed in a bucket."""

import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import packed

GRAPH = "generations/gen-1/graph.kuzu"
TABLE = "generations/gen-1/chunks.parquet"
PACKED = f"{GRAPH}.zst"
CONTENT = b"KUZU" + bytes(100_000) + b"the end"


@pytest.fixture
def objects() -> Objects:
    """An empty bucket in memory."""
    return Objects("s3://bucket/home", MemoryStore())


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_graph_is_small_in_the_bucket_and_whole_on_the_disk(objects: Objects, tmp_path: Path) -> None:
    packed.upload(objects, GRAPH, write(tmp_path / "graph", CONTENT), create=False)
    packed.upload(objects, TABLE, write(tmp_path / "table", CONTENT), create=False)
    sizes = {key: one.size for key, one in objects.list("generations").items()}
    assert sizes.keys() == {PACKED, TABLE}
    assert sizes[PACKED] < 1000 < sizes[TABLE] == len(CONTENT)
    for key, name in ((PACKED, GRAPH), (TABLE, TABLE)):
        assert (packed.name_of(key), packed.key_of(name)) == (name, key)
        assert packed.hash_of(objects, name) == sha256(CONTENT).hexdigest()
        assert packed.download(objects, name, tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == CONTENT
    assert {path.name for path in tmp_path.iterdir()} == {"graph", "table", "here"}, "nothing is left over"


@given(content=st.binary())
def test_any_content_comes_back(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    objects, folder = Objects("s3://bucket/home", MemoryStore()), tmp_path_factory.mktemp("content")
    packed.upload(objects, GRAPH, write(folder / "graph", content), create=False)
    assert packed.hash_of(objects, GRAPH) == sha256(content).hexdigest()
    assert packed.download(objects, GRAPH, folder / "here")
    assert (folder / "here").read_bytes() == content


@pytest.mark.parametrize("name", [GRAPH, TABLE])
def test_a_file_that_is_nowhere(objects: Objects, tmp_path: Path, name: str) -> None:
    assert packed.hash_of(objects, name) is None
    assert not packed.download(objects, name, tmp_path / "here")


@pytest.mark.parametrize("size", [None, -1, 20])
def test_a_damaged_graph(objects: Objects, tmp_path: Path, size: int | None) -> None:
    packed.upload(objects, GRAPH, write(tmp_path / "graph", CONTENT), create=False)
    found = objects.get(PACKED)
    assert found
    objects.upload(PACKED, found[0][:size] if size else b"no such thing", create=False)
    with pytest.raises(OSError, match=r"(?i)zstd|truncated"):
        packed.hash_of(objects, GRAPH)
    with pytest.raises(
        StoreError, match=rf"s3://bucket/home/{PACKED} is damaged .*; run `lightrag-dagster run --verify`"
    ):
        packed.download(objects, GRAPH, tmp_path / "here")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("key", "name", "is_packed"),
    [
        (PACKED, GRAPH, True),
        (GRAPH, GRAPH, True),
        ("generations/gen-1/adjacency/names.npy.zst", "generations/gen-1/adjacency/names.npy", True),
        ("generations/gen-1/adjacency/chunks.arrow.zst", "generations/gen-1/adjacency/chunks.arrow", True),
        (TABLE, TABLE, False),
        ("lance/a.lance/_deletions/0-1.arrow", "lance/a.lance/_deletions/0-1.arrow", False),
        ("exports/a/notes.zst", "exports/a/notes.zst", False),
    ],
)
def test_names(key: str, name: str, *, is_packed: bool) -> None:
    assert packed.name_of(key) == name
    assert packed.is_packed(name) == is_packed


def test_no_place_for_a_temporary_file_is_no_damage(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed.upload(objects, GRAPH, write(tmp_path / "graph", CONTENT), create=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(
        StoreError, match=r"no folder for temporary files can be written: No such file or directory; set TMPDIR"
    ):
        packed.hash_of(objects, GRAPH)


def test_a_full_disk(objects: Objects, tmp_path: Path) -> None:
    packed.upload(objects, GRAPH, write(tmp_path / "graph", CONTENT), create=False)
    assert objects.download(PACKED, tmp_path / "packed")
    with pytest.raises(StoreError, match=r"cannot write /dev/full: No space left on device; nothing was changed"):
        packed.unpack(GRAPH, tmp_path / "packed", Path("/dev/full"))
