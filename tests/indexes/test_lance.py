import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import EmbeddingError, IntegrityError, StoreError
from lightrag_dagster.indexes import vector_index
from lightrag_dagster.indexes.lance import VectorReader, open_vectors
from lightrag_dagster.indexes.vector_writer import add_vectors, open_to_write, pin, prepare_vectors
from lightrag_dagster.storage.duckdb import in_memory
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable
from tests.indexes.vectors import bring_to

Rows = Mapping[str, tuple[str, list[float]]]

FIRST: Rows = {"a": ("f1", [1, 0, 0]), "b": ("f1", [0, 1, 0]), "it's": ("f1", [0.6, 0.8, 0])}

CLOSE = 2**-11
"""Most that half precision changes a number up to 1, and a similarity in these tests."""


class Store:
    """A home whose vector table is brought to given rows; remembers which ids were asked for."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.asked: list[str] = []

    def sync(self, rows: Rows, tag: str, dimensions: int = 3, block: int = 2) -> VectorTable:
        self.asked = []

        def vectors_of(ids: list[str]) -> Vectors:
            self.asked += ids
            return np.array([rows[one][1] for one in ids], dtype=np.float32)

        wanted = pa.table(
            {"embedding_key": [key for key, _ in rows.values()], "id": list(rows)},
            pa.schema([("embedding_key", pa.string()), ("id", pa.string())]),
        )
        return bring_to(self.home, "entities-1", wanted, vectors_of, tag, dimensions, block)

    def open(self, entry: VectorTable) -> VectorReader:
        return open_vectors(self.home, entry)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def contents(reader: VectorReader) -> dict[str, tuple[str, list[float]]]:
    return {
        row["id"]: (row["embedding_key"], [round(number, 6) for number in row["vector"]])
        for row in reader.rows().to_pylist()
    }


def plain(rows: Rows) -> dict[str, tuple[str, list[float]]]:
    return {
        one: (key, [round(number, 6) for number in np.asarray(vector, dtype=np.float16).tolist()])
        for one, (key, vector) in rows.items()
    }


def test_only_what_changed_is_asked_for_and_written(store: Store) -> None:
    first = store.sync(FIRST, "g1")
    assert store.asked == ["a", "b", "it's"]
    assert (first.rows, first.dimensions, first.upserted, first.deleted) == (3, 3, 3, 0)
    changed: Rows = {"a": FIRST["a"], "b": ("f2", [0, 0, 1]), "c": ("f1", [0, 0.6, 0.8])}
    second = store.sync(changed, "g2")
    assert store.asked == ["b", "c"]
    assert (second.rows, second.upserted, second.deleted) == (3, 2, 1)
    assert contents(store.open(second)) == plain(changed)
    assert contents(store.open(first)) == plain(FIRST)


def test_equal_rows_write_nothing_but_a_tag(store: Store) -> None:
    first = store.sync(FIRST, "g1")
    files = {path for path in store.home.lance.rglob("*") if path.is_file()}
    store.asked = []
    second = store.sync(dict(reversed(list(FIRST.items()))), "g2")
    assert store.asked == []
    assert (second.upserted, second.deleted) == (0, 0)
    written = {path for path in store.home.lance.rglob("*") if path.is_file()} - files
    assert [path.name for path in written] == ["g2.json"]
    assert contents(store.open(second)) == contents(store.open(first))


def test_a_reader_keeps_its_version_while_others_are_written(store: Store) -> None:
    reader = store.open(store.sync(FIRST, "g1"))
    store.sync({"z": ("f", [1, 0, 0])}, "g2")
    store.sync({}, "g3")
    assert contents(reader) == plain(FIRST)
    assert reader.search(np.array([1, 0, 0], dtype=np.float32), 1, 0.2) == [("a", 1.0)]
    assert list(reader.vectors(["b"])["b"]) == [0, 1, 0]


def test_no_rows_at_all(store: Store) -> None:
    reader = store.open(store.sync({}, "g1"))
    assert reader.rows().num_rows == 0
    assert reader.search(np.array([1, 0, 0], dtype=np.float32), 5, -1.0) == []
    assert reader.vectors(["a"]) == {}
    assert reader.unusable() == []


def test_going_back_pins_the_tag_again(store: Store) -> None:
    store.sync(FIRST, "g1")
    store.sync({}, "g2")
    again = store.sync(FIRST, "g1")
    assert contents(store.open(again)) == plain(FIRST)


def test_a_table_of_another_layout_is_written_anew_and_its_versions_stay(store: Store) -> None:
    vectors = pa.array([vector for _, vector in FIRST.values()], pa.list_(pa.float32(), 3))
    unread = pa.array([0] * 3, pa.int32())
    rows = pa.table({"id": list(FIRST), "embedding_key": ["f1"] * 3, "vector": vectors, "unread": unread})
    older = lancedb.connect(store.home.lance).create_table("entities-1", rows)
    older.tags.create("g1", older.version)
    earlier = VectorTable(table="entities-1", tag="g1", rows=3, dimensions=3, upserted=3, deleted=0)
    more = {**FIRST, "c": ("f1", [0, 0.6, 0.8])}
    entry = store.sync(more, "g2")
    assert store.asked == ["c"]
    assert contents(store.open(entry)) == plain(more)
    reader = store.open(earlier)
    assert reader.rows()["vector"].type == pa.list_(pa.float32(), 3)
    assert [name for name, _ in reader.search(np.array([0.6, 0.8, 0], dtype=np.float32), 2, 0)] == ["it's", "b"]
    assert reader.vectors(["it's"])["it's"].tolist() == pytest.approx([0.6, 0.8, 0], abs=1e-7)


def test_what_a_killed_run_left_is_kept_or_replaced(store: Store) -> None:
    rows: Rows = {f"i{n}": ("f", [1, n, 0]) for n in range(5)}

    def dies(ids: list[str]) -> Vectors:
        if "i2" in ids:
            raise KeyboardInterrupt
        return np.array([rows[one][1] for one in ids], dtype=np.float32)

    wanted = pa.table({"id": list(rows), "embedding_key": ["f"] * 5})
    with pytest.raises(KeyboardInterrupt):
        bring_to(store.home, "entities-1", wanted, dies, "g1", 3, block=2)
    with pytest.raises(StoreError, match="entities-1"):
        store.open(VectorTable(table="entities-1", tag="g1", rows=5, dimensions=3, upserted=5, deleted=0))
    entry = store.sync(rows, "g1")
    assert store.asked == ["i2", "i3", "i4"]
    assert contents(store.open(entry)) == plain(rows)


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ([[1, 0, 0], [0, float("nan"), 0]], "the vector of b is not finite"),
        ([[1, 0, 0], [0, float("inf"), 0]], "the vector of b is not finite"),
        ([[1, 0, 0], [0, 70_000, 0]], "the vector of b is not finite, or has a number over 65,504"),
        ([[1, 0], [0, 1]], r"shape \(2, 2\) where \(2, 3\) is expected"),
        ([[1, 0, 0]], r"shape \(1, 3\) where \(2, 3\) is expected"),
        ([[1, 0, 0]] * 3, r"shape \(3, 3\) where \(2, 3\) is expected"),
    ],
)
def test_unusable_vectors_are_rejected(store: Store, vectors: list[list[float]], reason: str) -> None:
    def vectors_of(ids: list[str]) -> Vectors:
        return np.array(vectors, dtype=np.float32)

    wanted = pa.table({"id": ["a", "b"], "embedding_key": ["f", "f"]})
    with pytest.raises(EmbeddingError, match=reason):
        bring_to(store.home, "entities-1", wanted, vectors_of, "g1", 3)
    assert store.sync({"a": ("f", [1, 0, 0])}, "g2").rows == 1


@pytest.mark.parametrize(
    ("blocks", "came"), [([], 0), (["a"], 1), (["a", "b", "b"], 3)], ids=["none came", "one is missing", "one too many"]
)
def test_vectors_that_are_missing_or_too_many_are_an_error(store: Store, blocks: list[str], came: int) -> None:
    wanted = pa.table({"id": ["a", "b"], "embedding_key": ["f", "f"], "text": ["a", "b"]})
    with in_memory() as connection:
        connection.register("wanted", wanted)
        handle = open_to_write(store.home, "entities-1", 3)
        entry = prepare_vectors(handle, connection, "g1", 3)

    async def arrive() -> AsyncIterator[tuple[pa.Table, Vectors]]:
        for one in blocks:
            yield pa.table({"id": [one], "embedding_key": ["f"], "unread": [0]}), np.ones((1, 3), dtype=np.float32)

    with pytest.raises(EmbeddingError, match=f"entities-1: {came} vectors came for 2 rows; run again"):
        asyncio.run(add_vectors(handle, entry, arrive()))


def test_an_id_wanted_twice_is_refused(store: Store) -> None:
    def vectors_of(ids: list[str]) -> Vectors:
        return np.zeros((len(ids), 3), dtype=np.float32)

    wanted = pa.table({"id": ["a", "a"], "embedding_key": ["f", "g"]})
    with pytest.raises(IntegrityError, match="an id is wanted twice"):
        bring_to(store.home, "entities-1", wanted, vectors_of, "g1", 3)


def test_another_size_is_refused(store: Store) -> None:
    entry = store.sync(FIRST, "g1")
    with pytest.raises(StoreError, match="entities-1"):
        store.sync(FIRST, "g2", dimensions=4)
    with pytest.raises(EmbeddingError, match="the question's vector has 2 numbers, those of entities-1 3"):
        store.open(entry).search(np.array([1, 0], dtype=np.float32), 1, 0.0)
    with pytest.raises(StoreError, match="entities-1 holds vectors of 3, its manifest says 4"):
        store.open(entry.model_copy(update={"dimensions": 4}))


@pytest.mark.parametrize("wrong", [{"table": "nothing"}, {"tag": "nothing"}])
def test_a_missing_table_or_version(store: Store, wrong: dict[str, str]) -> None:
    entry = store.sync(FIRST, "g1").model_copy(update=wrong)
    with pytest.raises(StoreError, match="nothing") as refused:
        store.open(entry)
    assert "\n" not in str(refused.value)


SIMILAR: Rows = {
    "south": ("f", [-1, 0, 0]),
    "north": ("f", [3, 0, 0]),
    "east": ("f", [0, 2, 0]),
    "near": ("f", [0.8, 0.6, 0]),
    "nothing": ("f", [0, 0, 0]),
}


@pytest.mark.parametrize(
    ("limit", "threshold", "expected"),
    [
        (10, -1.0, [("north", 1.0), ("near", 0.8), ("east", 0.0), ("south", -1.0)]),
        (2, -1.0, [("north", 1.0), ("near", 0.8)]),
        (10, 0.0, [("north", 1.0), ("near", 0.8), ("east", 0.0)]),
        (10, 0.81, [("north", 1.0)]),
        (0, -1.0, []),
    ],
)
def test_search_is_cosine_best_first(
    store: Store, limit: int, threshold: float, expected: list[tuple[str, float]]
) -> None:
    hits = store.open(store.sync(SIMILAR, "g1")).search(np.array([5, 0, 0], dtype=np.float32), limit, threshold)
    assert [name for name, _ in hits] == [name for name, _ in expected]
    assert [similarity for _, similarity in hits] == pytest.approx(
        [similarity for _, similarity in expected], abs=CLOSE
    )


def test_a_zero_question_is_near_nothing(store: Store) -> None:
    assert store.open(store.sync(SIMILAR, "g1")).search(np.zeros(3, dtype=np.float32), 3, -1.0) == []


def test_ties_are_broken_by_id_however_many_there_are(store: Store) -> None:
    names = [f"n{n:03}" for n in np.random.default_rng(3).permutation(200)]
    rows: Rows = {name: ("f", [0.6, 0.8, 0]) for name in names} | {"best": ("f", [1, 0, 0])}
    reader = store.open(store.sync(rows, "g1", block=50))
    question = np.array([1, 0, 0], dtype=np.float32)
    assert [name for name, _ in reader.search(question, 4, 0.2)] == ["best", "n000", "n001", "n002"]
    assert len(reader.search(question, 1000, 0.2)) == 201


def test_vectors_by_id(store: Store) -> None:
    reader = store.open(store.sync(FIRST, "g1"))
    found = reader.vectors(["it's", "a", "unknown"])
    assert {one: vector.tolist() for one, vector in found.items()} == {
        "a": [1, 0, 0],
        "it's": pytest.approx([0.6, 0.8, 0], abs=CLOSE),
    }
    assert reader.vectors([]) == {}


def random_rows(count: int, seed: int = 0, dimensions: int = 8, prefix: str = "i") -> Rows:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return {f"{prefix}{n:05}": ("f", vector) for n, vector in enumerate(vectors.tolist())}


def index_of(store: Store) -> tuple[int | None, int | None] | None:
    indices = list(lancedb.connect(store.home.lance).open_table("entities-1").list_indices())
    return (indices[0].num_indexed_rows, indices[0].num_unindexed_rows) if indices else None


@pytest.mark.long
def test_a_large_table_is_indexed_and_indexed_again_when_much_is_outside(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 1000)
    rows = dict(random_rows(999))
    store.sync(rows, "g1", dimensions=8, block=500)
    assert index_of(store) is None
    rows |= random_rows(1, prefix="j")
    with caplog.at_level("INFO"):
        first = store.sync(rows, "g2", dimensions=8, block=500)
    assert index_of(store) == (1000, 0)
    assert "indexed 1000 rows of entities-1 in " in caplog.text
    rows |= random_rows(50, prefix="k")
    store.sync(rows, "g3", dimensions=8, block=500)
    assert index_of(store) == (1000, 50)
    rows |= random_rows(10, prefix="l")
    last = store.sync(rows, "g4", dimensions=8, block=500)
    assert index_of(store) == (1060, 0)
    for entry, held in ((first, 1000), (last, 1060)):
        reader = store.open(entry)
        question = np.array(rows["i00007"][1], dtype=np.float32)
        hits = reader.search(question, 20, -1.0)
        assert len(reader.search(question, 5000, -1.0)) == held
        # The similarities are true ones, not those of the rounded vectors of the index.
        stored = reader.vectors([name for name, _ in hits])
        for name, similarity in hits:
            length = np.linalg.norm(stored[name]) * np.linalg.norm(question)
            assert similarity == pytest.approx(float(stored[name] @ question / length), abs=CLOSE)


def near_identical(count: int, distinct: int) -> Rows:
    """Vectors of short, similar texts: many are equal, and the others differ a little."""
    noise = np.random.default_rng(3).standard_normal((distinct, 16)).astype(np.float32)
    vectors = (np.ones(16, dtype=np.float32) + 0.01 * noise).tolist()
    return {f"i{n:05}": ("f", vectors[n % distinct]) for n in range(count)}


@pytest.fixture
def small_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 2000)


@pytest.mark.usefixtures("small_index")
def test_vectors_that_are_equally_near_are_no_misses(store: Store) -> None:
    entry = store.sync(near_identical(2000, 20), "g1", dimensions=16, block=2000)
    assert entry.search == "exhaustive"
    assert index_of(store) == (2000, 0)


@pytest.mark.long
@pytest.mark.usefixtures("small_index")
def test_what_is_near_a_question_unlike_any_vector_is_found(store: Store) -> None:
    # Vectors in clusters, and questions between them, as those of a few words are.
    random = np.random.default_rng(5)
    centres = random.standard_normal((40, 64)).astype(np.float32)
    vectors = centres[np.arange(2000) % 40] + 0.5 * random.standard_normal((2000, 64)).astype(np.float32)
    rows: Rows = {f"i{number:05}": ("f", vector) for number, vector in enumerate(vectors.tolist())}
    reader = store.open(store.sync(rows, "g1", dimensions=64, block=2000))
    lengths = np.linalg.norm(vectors, axis=1)
    for question in random.standard_normal((10, 64)).astype(np.float32):
        cosines = np.sort(vectors @ question / lengths / np.linalg.norm(question))[::-1]
        found = [similarity for _, similarity in reader.search(question, 10, -1.0)]
        assert found == pytest.approx(cosines[:10].tolist(), abs=CLOSE)


@pytest.mark.usefixtures("small_index")
def test_a_table_that_no_index_suits_is_searched_without_one(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vector_index, "MIN_RECALL", 1.01)
    rows = near_identical(2000, 20)
    entry = store.sync(rows, "g1", dimensions=16, block=2000)
    assert entry.search == "flat"
    assert "using none" in caplog.text
    assert index_of(store) is None
    question = np.array(rows["i00007"][1], dtype=np.float32)
    hits = store.open(entry).search(question, 20, -1.0)
    assert [one for one, _ in hits] == [f"i{n:05}" for n in range(7, 2000, 20)][:20]


@pytest.mark.parametrize("use", [lambda reader: reader.rows(), lambda reader: reader.vectors(["a"])])
def test_a_damaged_table_is_one_line(store: Store, use: Callable[[VectorReader], object]) -> None:
    reader = store.open(store.sync(FIRST, "g1"))
    for path in store.home.lance.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"damaged")
    with pytest.raises(StoreError, match="vector table entities-1 cannot be used") as refused:
        use(reader)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["müller", "it's a [new]*", "100%20", "a#b", "~{a}"])
def test_a_tag_makes_no_folder_beside_a_home_of_any_name(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / name)
    pin(open_to_write(home, "names", 8), "gen-1")
    assert (home.lance / "names.lance" / "_refs" / "tags" / "gen-1.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == [name]
