"""A small knowledge base made by hand: documents are lists of chunks, a chunk is the names of the entities in it."""

import hashlib
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.adjacency import EvidenceFiles, build_adjacency
from lightrag_dagster.indexes.cypher import build_graph
from lightrag_dagster.indexes.embedding import record_vectors, write_vectors
from lightrag_dagster.indexes.embedding_batches import Embedding
from lightrag_dagster.indexes.integrity import findings
from lightrag_dagster.indexes.views import build_views
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.settings import EmbeddingSettings, MergingSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import (
    VECTOR_TABLES,
    EmbedderRecord,
    GenerationInputs,
    Manifest,
    VectorTable,
)
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.generations import ADJACENCY, Generation, scratch_folder, store
from lightrag_dagster.storage.tables.acceptance import Bounds, accept, accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

Documents = Mapping[str, Sequence[Sequence[str]]]

RIVER: Documents = {"weir.md": [["Weir", "Gauge"], ["Gauge", "Marta"]], "sub/flood.md": [["Weir", "Marta", "Bergen"]]}
OFFICE: Documents = {"office.md": [["Bergen", "O'Brien"], ["Weir", "Gauge"]]}

_DEFAULTS: list[tuple[Any, Any]] = [
    (pa.types.is_string, ""),
    (pa.types.is_integer, 0),
    (pa.types.is_floating, 1.0),
    (pa.types.is_list, []),
    (pa.types.is_boolean, False),
    (pa.types.is_timestamp, datetime(2026, 1, 2, tzinfo=UTC)),
]


class HashEmbedder:
    """Unit vectors made of a hash of the text; remembers what it was asked for."""

    def __init__(self, dimensions: int = 8, name: str = "hash") -> None:
        self.dimensions = dimensions
        self.identity = f"{name}/{dimensions}"
        self.asked: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        vectors = np.stack([np.random.default_rng(seed).standard_normal(self.dimensions) for seed in seeds])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    async def unread(self, texts: Sequence[str]) -> list[int]:
        return [0] * len(texts)

    def corpus_state(self, texts: Iterable[str]) -> Vectors | None:
        return np.array([len(list(texts))], dtype=np.float32)

    async def embed_queries(self, texts: Sequence[str], corpus_state: Vectors | None = None) -> Vectors:
        return await self.embed_documents(texts)


def rows(schema: pa.Schema, records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return a table of a schema; what a record leaves out is empty."""

    def default(field: pa.Field) -> Any:
        return None if field.nullable else next(value for fits, value in _DEFAULTS if fits(field.type))

    return pa.Table.from_pylist(
        [{field.name: record.get(field.name, default(field)) for field in schema} for record in records], schema
    )


def content(source: str, names: Sequence[str]) -> str:
    """Return the text of a chunk; chunks with the same names are the same in every source."""
    return " met ".join(names) + ".\nIt was \"noted\" in 'Höfn' 日本, \\n too."


def write_source(
    home: Home,
    source: str,
    documents: Documents,
    *,
    failed_documents: int = 0,
    failed_chunks: int = 0,
    skipped_documents: int = 0,
) -> None:
    """Write the six tables of a source, each made from the one before it."""
    records: dict[str, list[dict[str, Any]]] = {table: [] for table in SOURCE_TABLES}
    for path, chunks in documents.items():
        doc_id = identity.document_id(source, path)
        records["raw_documents"].append(
            {"source": source, "doc_id": doc_id, "path": path, "title": f"«{path}»", "status": "processed"}
        )
        for index, names in enumerate(chunks):
            chunk_id = identity.chunk_id(content(source, names), None)
            chunk = {"source": source, "chunk_id": chunk_id, "extraction_key": "key"}
            records["chunks"].append(
                chunk
                | {"doc_id": doc_id, "path": path, "chunk_index": index, "content": content(source, names), "tokens": 9}
            )
            records["extractions"].append(chunk | {"status": "ok"})
            records["entity_mentions"] += [chunk | {"mention_index": n, "name": name} for n, name in enumerate(names)]
            records["relation_mentions"] += [
                chunk | {"mention_index": n, "src": src, "tgt": tgt} for n, (src, tgt) in enumerate(pairwise(names))
            ]
            records["parsed"].append(chunk | {"entities": len(names), "relations": len(names) - 1})
    records["raw_documents"] += [
        {"source": source, "doc_id": f"doc-bad{n}", "path": f"bad{n}", "status": "failed", "error": "unreadable"}
        for n in range(failed_documents)
    ]
    records["raw_documents"] += [
        {"source": source, "doc_id": f"doc-skipped{n}", "path": f"skipped{n}", "status": "skipped"}
        for n in range(skipped_documents)
    ]
    records["extractions"] += [
        {"source": source, "chunk_id": f"chunk-bad{n}", "status": "failed"} for n in range(failed_chunks)
    ]
    parents = {"chunks": "raw_documents", "extractions": "chunks"} | dict.fromkeys(
        ("entity_mentions", "relation_mentions", "parsed"), "extractions"
    )
    tables = SourceTables(home)
    versions: dict[str, str] = {}
    for table, schema in SOURCE_TABLES.items():
        inputs = {parents[table]: versions[parents[table]]} if table in parents else {}
        written = tables.write(table, source, rows(schema, records[table]), inputs=inputs, recipe="code")
        versions[table] = written.version


def merged_tables(home: Home, inputs: GenerationInputs) -> dict[str, pa.Table]:
    """Return what merging the mentions yields, in the simplest way that keeps the tables consistent."""
    positions: dict[str, dict[str, Any]] = {}
    embedder_identity, tables = inputs.embedder.identity, SourceTables(home)

    def read(table: str) -> list[dict[str, Any]]:
        versions = [(source, used[table]) for source, used in sorted(inputs.sources.items())]
        return [row for source, version in versions for row in tables.read(table, source, version).to_pylist()]

    for chunk in read("chunks"):
        positions.setdefault(chunk["chunk_id"], chunk)

    def evidence(table: str) -> list[dict[str, Any]]:
        distinct = {(row["chunk_id"], row["mention_index"]): row for row in read(table)}
        place = ("source", "doc_id", "path")
        return [row | {name: positions[row["chunk_id"]][name] for name in place} for row in distinct.values()]

    entities: dict[str, dict[str, Any]] = {}
    entity_evidence = [row | {"entity_id": identity.entity_id(row["name"])} for row in evidence("entity_mentions")]
    by_entity = defaultdict(list)
    for row in entity_evidence:
        by_entity[row["entity_id"]].append(row)
        text = f"{row['name']}\nAbout {row['name']}"
        entities[row["entity_id"]] = {
            "entity_id": row["entity_id"],
            "name": row["name"],
            "description": f"About {row['name']}",
            "embedding_key": identity.embedding_key(embedder_identity, text),
        }
    for entity_id, entity in entities.items():
        entity |= cited(by_entity[entity_id])
    relations: dict[str, dict[str, Any]] = {}
    by_relation = defaultdict(list)
    for row in evidence("relation_mentions"):
        src_id, tgt_id = sorted((identity.entity_id(row["src"]), identity.entity_id(row["tgt"])))
        relation_id = identity.relation_id(src_id, tgt_id)
        src, tgt = entities[src_id]["name"], entities[tgt_id]["name"]
        text = f"met\t{src}\n{tgt}\nOne met\nthe other"
        by_relation[relation_id].append(row | {"relation_id": relation_id})
        relations[relation_id] = {
            "relation_id": relation_id,
            "src_id": src_id,
            "tgt_id": tgt_id,
            "src": src,
            "tgt": tgt,
            "keywords": "met",
            "description": "One met\nthe other",
            **cited(by_relation[relation_id]),
            "embedding_key": identity.embedding_key(embedder_identity, text),
        }
    found = {
        "entities": entities.values(),
        "relations": relations.values(),
        "entity_evidence": entity_evidence,
        "relation_evidence": chain.from_iterable(by_relation.values()),
    }
    return {table: rows(schema, found[table]) for table, schema in MERGED_TABLES.items()}


def cited(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a row says of its evidence."""
    chunks, documents = ({row[name] for row in evidence} for name in ("chunk_id", "doc_id"))
    return {
        "chunk_ids": sorted(chunks),
        "doc_ids": sorted(documents),
        "mention_count": len(evidence),
        "chunk_count": len(chunks),
        "document_count": len(documents),
    }


def merge(home: Home, *sources: str, embedder_identity: str = "hash/8") -> Generation:
    """Accept the sources and start the generation of their merge, with its tables written."""
    for source in sources:
        assert accept(home, source, Bounds(0.5, 1.0)).accepted
    inputs = inputs_of(home, *sources, embedder_identity=embedder_identity)
    return store_tables(home, inputs, merged_tables(home, inputs))


def store_tables(
    home: Home,
    inputs: GenerationInputs,
    tables: Mapping[str, pa.Table],
    summaries: Mapping[str, int] | None = None,
    failed: int = 0,
) -> Generation:
    """Store tables as a generation."""
    with scratch_folder(home) as scratch:
        parts = {table: [scratch / f"{table}.parquet"] for table in tables}
        for table, found in tables.items():
            pq.write_table(found, parts[table][0])
        return store(home, inputs, parts, summaries or {}, failed)


def inputs_of(home: Home, *sources: str, embedder_identity: str = "hash/8", revisions: str = "1") -> GenerationInputs:
    """Return the inputs of a merge of what is accepted of some sources."""
    records = {source: accepted(home, source) for source in sorted(sources)}
    return GenerationInputs(
        sources={source: record.tables for source, record in records.items() if record},
        revisions=revisions,
        merging=MergingSettings(),
        encoding="o200k_base",
        embedder=EmbedderRecord(provider="offline", model="hash", dimensions=8, identity=embedder_identity),
    )


async def build_vectors(generation: Generation, table: str, embedding: Embedding) -> VectorTable:
    """Write, index, tag and record one vector table."""
    return await record_vectors(generation, table, await write_vectors(generation, table, embedding), embedding)


async def build(generation: Generation, embedder: HashEmbedder | None = None) -> Generation:
    """Finish every step of a generation after the merge."""
    embedding = Embedding(embedder or HashEmbedder(), EmbeddingSettings(dimensions=8, batch_size=2))
    for table in VECTOR_TABLES:
        await build_vectors(generation, table, embedding)
    build_graph(generation)
    entities, relations = generation.read_table("entities"), generation.read_table("relations")
    tables = ("entity_evidence", "relation_evidence", "chunks", "raw_documents")
    evidence = EvidenceFiles(*map(generation.table_files, tables))
    build_adjacency(generation.path(ADJACENCY), entities, relations, evidence)
    build_views(generation)
    return generation


def copy_of(generation: Generation, folder: Path) -> Generation:
    """Return a generation in a copy of its home, for a test to damage."""
    shutil.copytree(generation.home.root, folder, dirs_exist_ok=True)
    return Generation(Home(folder), generation.id)


def home_of(folder: Path, **sources: Documents) -> Home:
    """Return a home with these sources in it."""
    home = Home(folder / "home")
    for source, documents in sources.items():
        write_source(home, source, documents)
    return home


def publish(generation: Generation) -> Manifest:
    """Publish a finished generation when nothing is wrong with it."""
    return snapshots.publish(generation.home, generation, findings(generation))
