"""How long a question takes at scale, embedding and language model apart, on a synthetic snapshot in the real stores.

    python -m benchmarks.query --entities 200000 --dimensions 256 HOME [--twice]

The snapshot is built in HOME unless it is there: 1.5 relations and 3 mentions an entity, 4 entities a chunk, hubs of
high degree, vectors in clusters of 200; with `--twice`, the types of a hundred entities are decided, and a second
snapshot is published. A question names two entities and has ten more words of the chunks. It prints
recall of the index against comparing all vectors, and for each mode milliseconds at the median and the 95th percentile,
milliseconds of processor time at the median (which other work on the machine lengthens less), and where the time goes.
"""

import argparse
import hashlib
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.indexes.lance import VectorReader
from lightrag_dagster.models.providers import embedder_identity, open_chat_model
from lightrag_dagster.pipeline.graph import build_graph
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.filters.view import filtered
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot, open_snapshot
from lightrag_dagster.query.steps.retrieve import Trace, retrieve
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.settings import EmbeddingSettings, QuerySettings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.tables.acceptance import Bounds, accept
from lightrag_dagster.storage.tables.source_tables import SourceTables

SOURCES = ("north", "south", "east", "west")
CLUSTER = 200
RETYPED = 100
WORDS = [hashlib.sha256(str(number).encode()).hexdigest()[: 3 + number % 8] for number in range(20_000)]


class SyntheticEmbedder:
    """Unit vectors near the centre of the cluster that a hash of the text names."""

    def __init__(self, dimensions: int, clusters: int) -> None:
        self.dimensions = dimensions
        self.identity = embedder_identity(EmbeddingSettings(dimensions=dimensions))
        self.usage = Usage()
        self._centres = np.random.default_rng(1).standard_normal((clusters, dimensions)).astype(np.float32)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        noise = np.stack([np.random.default_rng(seed).standard_normal(self.dimensions, np.float32) for seed in seeds])
        near = self._centres[[seed % len(self._centres) for seed in seeds]] + noise
        return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), dtype=np.float32)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self.vectors(texts)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        return [0] * len(texts)

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        return None

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        return self.vectors(texts)


def sentence(random: np.random.Generator, words: int) -> str:
    return " ".join(WORDS[number] for number in random.integers(0, len(WORDS), words))


def write_tables(home: Home, entities: int) -> None:
    """Write the tables of all sources."""
    random = np.random.default_rng(7)
    chunks = entities // 4
    names = [f"{sentence(random, 2)} {number}" for number in range(entities)]
    chunk_ids, per_source = [f"chunk-{identity.text_digest(str(number))}" for number in range(chunks)], len(SOURCES)
    mentioned = np.concatenate([np.arange(entities), (random.random(2 * entities) ** 2 * entities).astype(int)])
    ends = np.stack(
        [
            (random.random(int(1.5 * entities)) ** 2 * entities).astype(int),
            random.integers(0, entities, int(1.5 * entities)),
        ]
    )
    in_chunk = {
        "entity": random.integers(0, chunks, len(mentioned)),
        "relation": random.integers(0, chunks, ends.shape[1]),
    }
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for number, chunk_id in enumerate(chunk_ids):
        source, path = SOURCES[number % per_source], f"{number // 40:06d}.md"
        doc_id = identity.document_id(source, path)
        common = {"source": source, "chunk_id": chunk_id}
        place = {"doc_id": doc_id, "path": path, "chunk_index": number // per_source % 10}
        rows["chunks", source].append(common | place | {"content": sentence(random, 60), "tokens": 240})
        rows["extractions", source].append(common | {"extraction_key": "key", "status": "ok"})
        rows["parsed", source].append(common | {"extraction_key": "key"})
        if place["chunk_index"] == 0:
            document = {"source": source, "doc_id": doc_id, "path": path, "title": path, "status": "processed"}
            rows["raw_documents", source].append(document | {"media_type": "text/markdown"})
    for index, (entity, chunk) in enumerate(zip(mentioned.tolist(), in_chunk["entity"].tolist(), strict=True)):
        source = SOURCES[chunk % per_source]
        rows["entity_mentions", source].append(
            {"source": source, "chunk_id": chunk_ids[chunk], "extraction_key": "key", "mention_index": index,
             "name": names[entity], "type": "thing", "description": sentence(random, 20)}
        )  # fmt: skip
    for index, (src, tgt, chunk) in enumerate(zip(*ends.tolist(), in_chunk["relation"].tolist(), strict=True)):
        source = SOURCES[chunk % per_source]
        rows["relation_mentions", source].append(
            {"source": source, "chunk_id": chunk_ids[chunk], "extraction_key": "key", "mention_index": index,
             "src": names[src], "tgt": names[tgt], "keywords": "joins",
             "description": sentence(random, 20), "weight": 1.0}
        )  # fmt: skip
    tables = SourceTables(home)
    made_from = {
        "chunks": "raw_documents",
        "extractions": "chunks",
        "entity_mentions": "extractions",
        "relation_mentions": "extractions",
        "parsed": "extractions",
    }
    for source in SOURCES:
        versions: dict[str, str] = {}
        for name, schema in SOURCE_TABLES.items():
            inputs = {made_from[name]: versions[made_from[name]]} if name in made_from else {}
            table = filled(schema, rows[name, source])
            versions[name] = tables.write(name, source, table, inputs=inputs, recipe="").version
        assert accept(home, source, Bounds(0.2, 1.0)).accepted


def filled(schema: pa.Schema, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return a table; what the rows leave out is empty."""
    given = set(rows[0])
    columns = []
    for field in schema:
        if field.name in given:
            columns.append(pa.array([row[field.name] for row in rows], field.type))
        elif field.nullable:
            columns.append(pa.nulls(len(rows), field.type))
        else:
            value = next(value for fits, value in _EMPTY if fits(field.type))
            columns.append(pa.array([value] * len(rows), field.type))
    return pa.Table.from_arrays(columns, schema=schema)


_EMPTY: list[tuple[Callable[[pa.DataType], bool], Any]] = [
    (pa.types.is_string, ""),
    (pa.types.is_list, []),
    (pa.types.is_timestamp, datetime(2026, 1, 1, tzinfo=UTC)),
    (lambda kind: True, 0),
]


def build(home: Home, entities: int, embedder: SyntheticEmbedder, twice: bool) -> None:
    """Build and publish, once or twice."""
    clock = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal clock
        print(f"  {name}: {time.perf_counter() - clock:.1f} s", flush=True)
        clock = time.perf_counter()

    for source in SOURCES:
        (home.root / "sources" / source).mkdir(parents=True)
    embedding = {"dimensions": embedder.dimensions, "batch_size": 1000}
    settings = load_settings(home=home.root, sources=home.root / "sources", embedding=embedding)
    recipes = Recipes.of(settings)
    write_tables(home, entities)
    lap("source tables")
    for number in range(1 + twice):
        if number:
            with closing(open_snapshot(home, None)) as snapshot:
                names = snapshot.graph.entities.rows.column("name").slice(0, RETYPED).to_pylist()
            take(settings, [Decision(action="retype", names=(name,), type="person") for name in names])
        merge_sources(recipes, lambda: open_chat_model(settings.llm, home, "summarise"))
        lap("merge")
        for name in VECTOR_TABLES:
            embed(recipes, name, lambda _one, engine: nullcontext(embedder))
            lap(name)
        build_graph(settings)
        lap("graph and arrays")
        publish_newest(settings)
        lap("publish")


def recall(snapshot: Snapshot, embedder: SyntheticEmbedder, queries: int) -> None:
    """Print the share of the true nearest that the index finds."""
    asked = embedder.vectors([f"recall {number}" for number in range(queries)])
    for name, limit in (("entity_vectors", 40), ("relation_vectors", 40), ("chunk_vectors", 20)):
        reader = snapshot.vectors[name]
        assert isinstance(reader, VectorReader)  # under no filter
        rows = reader.rows()
        ids = np.array(rows["id"].to_pylist())
        vectors = rows["vector"].combine_chunks().flatten().to_numpy().reshape(len(ids), -1)
        found = 0
        for vector in asked:
            true = set(ids[np.argpartition(-(vectors @ vector), limit)[:limit]])
            found += len(true & {one for one, _ in reader.search(vector, limit, -1.0)})
        print(f"  recall@{limit} of {name} ({len(ids)} rows): {found / limit / queries:.3f}")


def _known(vectors: dict[str, Vectors], texts: Sequence[str]) -> Vectors:
    return np.stack([vectors[text] for text in texts])


def ask(snapshot: Snapshot, embedder: SyntheticEmbedder, mode: str, queries: int, label: str) -> None:
    """Print the milliseconds of a mode, embedding apart, and of its steps."""
    count, settings = load_tokenizer("o200k_base").count, QuerySettings(mode=mode)
    total, processor, steps = [], [], defaultdict(list)
    names = snapshot.graph.entities.rows.column("name")
    for number in range(queries + 3):
        named = " and ".join(names[place * len(names) // (queries + 4)].as_py() for place in (number, number + 1))
        words = sentence(np.random.default_rng(number), 10)
        texts = [f"{mode} question {number} of {named}: {words}?", f"specific {number}", f"theme {number}"]
        vectors = dict(zip(texts, embedder.vectors(texts), strict=True))
        keywords, trace = Keywords((texts[2],), (texts[1],)), Trace(explain=False)
        search = Search(snapshot, Question(texts[0], settings, keywords), partial(_known, vectors))
        started, worked = time.perf_counter(), time.process_time()
        found = retrieve(search, count, 1000, None, trace)
        if number >= 3:
            total.append((time.perf_counter() - started) * 1000)
            processor.append((time.process_time() - worked) * 1000)
            for step in trace.steps:
                steps[step.name].append(step.milliseconds)
    spent = ", ".join(f"{name} {np.median(times):.0f}" for name, times in steps.items())
    p50, p95 = np.percentile(total, (50, 95))
    sizes = f"{len(found.entities)} entities, {len(found.relations)} relations, {len(found.chunks)} chunks"
    timed = f"p50 {p50:6.1f} ms  p95 {p95:6.1f} ms  processor {np.median(processor):6.1f} ms"
    print(f"  {label:<18} {timed}  ({spent}; {sizes})", flush=True)


OPENING = """
import sys, time
from pathlib import Path
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.storage.home import Home
started = time.perf_counter()
snapshot = open_snapshot(Home(Path(sys.argv[1])), None)
opened = time.perf_counter()
snapshot.vectors["chunk_vectors"].vectors(snapshot.graph.chunks.ids[:1].astype(str).tolist())
print(f"  opening: {opened - started:.2f} s, and {time.perf_counter() - opened:.2f} s at the first question")
"""


def memory() -> float:
    """Return the most memory that this process has held, memory-mapped pages included. MiB."""
    # Not getrusage, which counts what the parent held when it started this process.
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main() -> None:
    """Build when needed, then measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("home", type=Path)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--twice", action="store_true", help="publish a second snapshot, which differs in types")
    parser.add_argument("--measure", action="store_true", help="measure what is there, in this process")
    given = parser.parse_args()
    home = Home(given.home)
    embedder = SyntheticEmbedder(given.dimensions, max(1, given.entities // CLUSTER))
    if not given.measure:
        print(f"{given.entities} entities, {given.dimensions} dimensions")
        if not home.published.exists():
            build(home, given.entities, embedder, given.twice)
        subprocess.run([sys.executable, "-c", OPENING, str(given.home)], check=True)
        # A process of its own, so that its memory is that of asking alone.
        subprocess.run([sys.executable, "-m", "benchmarks.query", "--measure", *sys.argv[1:]], check=True)
        return
    snapshot = open_snapshot(home, None)
    for mode in MODES:
        if MODES[mode].retrieves:
            ask(snapshot, embedder, mode, given.queries, mode)
    print(f"  memory, at most: {memory():.0f} MiB")
    started = time.perf_counter()
    north = filtered(snapshot, Filters(sources="north"))
    print(f"  filter, first time: {time.perf_counter() - started:.2f} s")
    ask(north, embedder, "mix", max(5, given.queries // 5), "mix, one source")
    recall(snapshot, embedder, given.queries)


if __name__ == "__main__":
    main()
