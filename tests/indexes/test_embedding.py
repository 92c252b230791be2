import asyncio
import sys
import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pyarrow as pa
import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.core.progress import listening
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import StoreError, TransientProviderError
from lightrag_dagster.indexes import embedding, vector_index, views
from lightrag_dagster.indexes.embedding import (
    embed_changed,
    record_vectors,
    save_corpus_state,
    texts_to_embed,
    write_vectors,
)
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.indexes.lance import open_database, open_vectors
from lightrag_dagster.indexes.vector_writer import pin_vectors
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.settings import EmbeddingSettings
from lightrag_dagster.storage import manifests
from lightrag_dagster.storage.duckdb import in_memory
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.storage.corpus import OFFICE, RIVER, HashEmbedder, build_vectors, content, home_of, merge, write_source

SETTINGS = EmbeddingSettings(dimensions=8, batch_size=2)


def build_all(generation: Generation, embedder: HashEmbedder) -> manifests.Vectors:
    for name in VECTOR_TABLES:
        asyncio.run(build_vectors(generation, name, Embedding(embedder, SETTINGS)))
    return generation.read_record("vectors.json", manifests.Vectors)


def test_every_row_has_the_vector_of_its_text(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER, office=OFFICE)
    generation = merge(home, "river", "office")
    embedder = HashEmbedder()
    record = build_all(generation, embedder)
    assert (record.provider, record.dimensions, record.identity) == ("offline", 8, "hash/8")
    weir = generation.read_table("entities").to_pylist()
    texts = {row["entity_id"]: f"{row['name']}\n{row['description']}" for row in weir}
    reader = open_vectors(home, record.tables["entity_vectors"])
    for entity_id, text in texts.items():
        expected = asyncio.run(embedder.embed_documents([text]))[0]
        assert reader.vectors([entity_id])[entity_id] == pytest.approx(expected, abs=2**-11)
    relation = generation.read_table("relations").to_pylist()[0]
    assert f"met\t{relation['src']}\n{relation['tgt']}\nOne met\nthe other" in embedder.asked
    assert embedder.asked.count(content("river", ["Weir", "Gauge"])) == 1
    chunks = open_vectors(home, record.tables["chunk_vectors"]).rows()
    keys = dict(zip(chunks["id"].to_pylist(), chunks["embedding_key"].to_pylist(), strict=True))
    for row in generation.read_table("chunks").to_pylist():
        assert keys[row["chunk_id"]] == identity.embedding_key("hash/8", row["content"])


def test_only_what_changed_is_embedded(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER, office=OFFICE)
    embedder = HashEmbedder()
    build_all(merge(home, "river", "office"), embedder)
    embedder.asked.clear()
    build_all(merge(home, "river"), embedder)
    assert embedder.asked == []
    write_source(home, "office", {"office.md": [["Bergen", "Oslo"]]})
    record = build_all(merge(home, "river", "office"), embedder)
    assert sorted(embedder.asked) == sorted(
        [
            content("office", ["Bergen", "Oslo"]),
            "Oslo\nAbout Oslo",
            *(text for text in embedder.asked if "met\t" in text),
        ]
    )
    assert len(embedder.asked) == 3
    assert record.tables["entity_vectors"].upserted == 1
    assert record.tables["chunk_vectors"].deleted == 0


def test_a_finished_table_is_not_touched_again(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    generation = merge(home, "river")
    record = build_all(generation, HashEmbedder())
    before = {path: path.stat().st_mtime_ns for path in home.root.rglob("*")}
    assert build_all(generation, HashEmbedder()) == record
    assert {path: path.stat().st_mtime_ns for path in home.root.rglob("*")} == before


@pytest.mark.long
def test_another_embedder_has_tables_of_its_own(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    old = build_all(merge(home, "river"), HashEmbedder())
    held = open_vectors(home, old.tables["chunk_vectors"]).rows().sort_by("id")
    write_source(home, "river", OFFICE)
    new = build_all(merge(home, "river", embedder_identity="hash/12"), HashEmbedder(12))
    assert {entry.dimensions for entry in new.tables.values()} == {12}
    assert not {entry.table for entry in new.tables.values()} & {entry.table for entry in old.tables.values()}
    assert open_vectors(home, old.tables["chunk_vectors"]).rows().sort_by("id") == held


class FailingEmbedder(HashEmbedder):
    """Fails on one text."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if "text 7" in texts:
            raise TransientProviderError("try again")
        return await super().embed_documents(texts)


def run_changed(
    home: Home,
    embedder: HashEmbedder,
    count: int = 10,
    provider: str = "offline",
    before: Mapping[str, str] | None = None,
) -> manifests.VectorTable:
    numbers = range(count)
    wanted = pa.table(
        {
            "id": [f"id-{n}" for n in numbers],
            "embedding_key": ["f" for _ in numbers],
            "text": [f"text {n}" for n in numbers],
        }
    )
    with in_memory() as connection:
        connection.register("wanted", wanted)
        embedded = Embedding(embedder, SETTINGS.model_copy(update={"provider": provider}))
        entry = asyncio.run(embed_changed(home, "chunk_vectors", connection, embedded, "g1", before or {}))
    return pin_vectors(open_database(home), entry)


def test_a_failure_keeps_its_type_and_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_ROWS_PER_BLOCK", 4)
    with pytest.raises(TransientProviderError, match="try again"):
        run_changed(Home(tmp_path), FailingEmbedder())
    embedder = HashEmbedder()
    entry = run_changed(Home(tmp_path), embedder)
    assert sorted(embedder.asked) == [f"text {n}" for n in range(4, 10)]
    assert open_vectors(Home(tmp_path), entry).rows().num_rows == 10


class RefusingEmbedder(HashEmbedder):
    """Has no vector for some texts."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        made = await super().embed_documents(texts)
        made[[text in self.refused for text in texts]] = 0
        return made


def test_texts_that_the_embedder_refuses_are_named_until_they_change(tmp_path: Path) -> None:
    home, before = Home(tmp_path), {"id-7": "text 7", "id-99": "gone"}
    first = run_changed(home, RefusingEmbedder("text 3", "text 7"), provider="openai")
    assert first.refused == {"id-3": "text 3", "id-7": "text 7"}
    again = run_changed(home, RefusingEmbedder("text 11"), 12, provider="openai", before=before)
    assert again.refused == {"id-7": "text 7", "id-11": "text 11"}
    reader = open_vectors(home, again)
    assert [one for one, _ in reader.search(np.ones(8, dtype=np.float32), 99, -1.0) if one in ("id-3", "id-7")] == []


def test_the_zero_vectors_of_rules_are_no_refusals(tmp_path: Path) -> None:
    assert run_changed(Home(tmp_path), RefusingEmbedder("text 3")).refused == {}


def test_progress_is_reported_by_batch(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    with listening(lambda stage, done, total: heard.append((stage, done, total))):
        run_changed(Home(tmp_path), HashEmbedder(), count=9)
    assert heard == [("chunk_vectors", done, 9) for done in (2, 4, 6, 8, 9)]


def test_the_corpus_state_is_of_distinct_chunks(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER, office=OFFICE), "river", "office")
    save_corpus_state(generation, Embedding(HashEmbedder(), SETTINGS))
    assert np.load(generation.path("corpus_state.npy")).tolist() == [4.0]
    before = generation.path("corpus_state.npy").stat()
    save_corpus_state(generation, Embedding(HashEmbedder(), SETTINGS))
    assert generation.path("corpus_state.npy").stat() == before


@pytest.mark.long
def test_the_corpus_state_follows_the_difference_from_another_generation(tmp_path: Path) -> None:
    counted: list[str] = []

    class Counting(LexicalEmbedder):
        def corpus_state(self, texts: Iterable[str]) -> Vectors:
            counted.extend(texts := list(texts))
            return super().corpus_state(texts)

    def texts_of(generation: Generation) -> set[str]:
        return set(generation.read_table("chunks")["content"].to_pylist())

    home, embedding = home_of(tmp_path, river=RIVER, office=OFFICE, other=RIVER), Embedding(Counting(64), SETTINGS)
    before = merge(home, "office")
    save_corpus_state(before, embedding)
    for sources in (("river", "office"), ("other", "river"), ("other",)):
        generation = merge(home, *sources)
        path = generation.path("corpus_state.npy")
        save_corpus_state(generation, embedding)
        whole = path.read_bytes()
        path.unlink()
        counted.clear()
        save_corpus_state(generation, embedding, before)
        assert path.read_bytes() == whole
        assert sorted(counted) == sorted(texts_of(generation) ^ texts_of(before))
        before = generation


@pytest.mark.long
def test_a_large_table_is_embedded_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = merge(home_of(tmp_path / "small", river=RIVER, office=OFFICE, other=RIVER), "river", "office", "other")
    tables = build_all(small, HashEmbedder()).tables
    monkeypatch.setattr(views, "_ROWS_IN_MEMORY", 0)
    monkeypatch.setattr(embedding, "_ROWS_PER_BLOCK", 1)
    large = merge(home_of(tmp_path / "large", river=RIVER, office=OFFICE, other=RIVER), "river", "office", "other")
    assert build_all(large, HashEmbedder()).tables == tables
    for entry in tables.values():
        one, other = (open_vectors(one.home, entry).rows().sort_by("id") for one in (small, large))
        assert one.num_rows == entry.rows
        assert one == other
    for generation in (small, large):
        save_corpus_state(generation, Embedding(HashEmbedder(), SETTINGS))
    assert small.path("corpus_state.npy").read_bytes() == large.path("corpus_state.npy").read_bytes()
    assert not list(large.home.generations.glob(".*"))


def test_a_table_that_is_damaged_between_runs_is_named(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    embedded = Embedding(HashEmbedder(), SETTINGS)
    asyncio.run(write_vectors(generation, "chunk_vectors", embedded))
    for path in generation.home.lance.rglob("*.lance"):
        if path.is_file():
            path.write_bytes(b"damaged")
    with pytest.raises(StoreError, match=r"vector table chunk_vectors-[0-9a-f]{8} cannot be used") as refused:
        asyncio.run(write_vectors(generation, "chunk_vectors", embedded))
    assert "Traceback" not in str(refused.value)


def test_texts_that_cannot_be_read_to_their_end(tmp_path: Path) -> None:
    failing = "SELECT 'c' || i AS id, '' AS embedding_key, if(i = 200000, error('disk full'), 'text') AS text"
    with in_memory() as connection:
        rows = connection.sql(f"{failing} FROM range(200001) AS t(i)").to_arrow_reader(1000)
        with pytest.raises(StoreError, match=r"the texts to embed cannot be read: .*disk full; run again"):
            sum(block.num_rows for block in embedding._distinct(rows))


@pytest.mark.long
def test_an_index_that_was_built_before_a_crash_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 1)
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    embedded = Embedding(HashEmbedder(), SETTINGS)
    entry = asyncio.run(write_vectors(generation, "entity_vectors", embedded))
    with pytest.raises(StoreError):
        open_vectors(generation.home, entry)
    pinned = pin_vectors(open_database(generation.home), entry)
    again = asyncio.run(write_vectors(generation, "entity_vectors", embedded))
    assert (again.upserted, again.deleted) == (0, 0)
    recorded = asyncio.run(record_vectors(generation, "entity_vectors", again, embedded))
    assert recorded.search == pinned.search == "exhaustive"
    assert open_vectors(generation.home, recorded).rows().num_rows == entry.rows


@pytest.mark.long
def test_the_texts_to_embed_are_those_that_the_snapshot_lacks(tmp_path: Path) -> None:
    home = home_of(tmp_path, river=RIVER)
    published = merge(home, "river")
    write_source(
        home, "office", {"office.md": [["Bergen", "Oslo"], ["Weir", "Gauge"]], "copy.md": [["Bergen", "Oslo"]]}
    )
    generation = merge(home, "river", "office")
    (relation,) = (row for row in generation.read_table("relations").to_pylist() if "Oslo" in (row["src"], row["tgt"]))
    new = {
        "chunk_vectors": content("office", ["Bergen", "Oslo"]),
        "entity_vectors": "Oslo\nAbout Oslo",
        "relation_vectors": f"met\t{relation['src']}\n{relation['tgt']}\nOne met\nthe other",
    }
    for name, text in new.items():
        assert list(texts_to_embed(generation, name, published)) == [text]
        everything = list(texts_to_embed(generation, name, None))
        assert text in everything
        assert len(everything) == len(set(everything)) > 1
    other = merge(home, "river", embedder_identity="other/8")
    assert len(list(texts_to_embed(generation, "entity_vectors", other))) == 5


@pytest.mark.long
def test_the_texts_to_embed_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_ROWS_READ", 64)
    home, names = Home(tmp_path), [letter * 2000 for letter in ascii_lowercase[:11]]
    write_source(home, "notes", {"a.md": list(permutations(names, 3))})
    generation = merge(home, "notes")
    list(texts_to_embed(generation, "entity_vectors", None))  # what is made once is not counted
    tracemalloc.start()
    try:
        sizes = [sys.getsizeof(text) for text in texts_to_embed(generation, "chunk_vectors", None)]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sizes) == 11 * 10 * 9
    assert most < sum(sizes) / 4


def test_no_corpus_state_is_no_file(tmp_path: Path) -> None:
    class Stateless(HashEmbedder):
        def corpus_state(self, texts: object) -> None:
            return None

    generation = merge(home_of(tmp_path, river=RIVER), "river")
    save_corpus_state(generation, Embedding(Stateless(), SETTINGS))
    assert not generation.has("corpus_state.npy")
