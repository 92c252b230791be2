"""The merge of made-up mentions: all of it, against what follows a change.

    python -m benchmarks.merging --mentions 1000000

Four sources hold chunks with six entity mentions and four relation mentions each. `flat`: every name is as frequent as
any other, three entity mentions a name. `zipf`: the r-th name is as frequent as 1 / (r + 10), so a few are in a large
part of all chunks. A change replaces a share of the chunks, all over the sources, by others. Printed are seconds of the
whole merge and of the one that follows the change, each with reading and writing of all tables; what is left of both
when nothing is merged (`rewrite`); and the peak resident memory of each.
"""

import argparse
import asyncio
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.llm.offline import OfflineChatModel
from lightrag_dagster.merging.merge import Merged, MergeInput, merge
from lightrag_dagster.prompts import load_prompts
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, RELATION_MENTIONS
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stores import files

SOURCES = 4
ENTITIES, RELATIONS = 6, 4  # mentions of a chunk
CHUNKS_A_DOCUMENT = 5
MENTIONS_A_NAME = 3
RANK_SHIFT = 10
WORDS = np.array(["weir", "gauge", "flood", "harbour", "archive", "station", "ledger", "survey", "bridge", "mill"])


def write_inputs(folder: Path, chunks: int, zipf: bool, changed: float) -> list[MergeInput]:
    """Write the files of all sources; the same chunks but for the changed share."""
    fresh = np.random.default_rng(7).random(chunks) < changed
    identity = np.where(fresh, "chunk-new-", "chunk-old-").astype(object) + np.char.zfill(np.arange(chunks).astype(str), 8)
    old, new = np.random.default_rng(1), np.random.default_rng(2)

    def drawn(draw: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:  # type: ignore[type-arg]
        one, other = draw(old), draw(new)
        return np.where(np.repeat(fresh, len(one) // chunks), other, one)

    names = chunks * ENTITIES // MENTIONS_A_NAME
    ranks = drawn(lambda random: _ranks(random, chunks * ENTITIES, names, zipf)).reshape(chunks, ENTITIES)
    texts = drawn(lambda random: _texts(random, chunks * (ENTITIES + RELATIONS))).reshape(chunks, -1)
    spelled = np.char.add("Name ", ranks.astype(str)).astype(object)
    inputs = []
    for source in range(SOURCES):
        rows = np.arange(source, chunks, SOURCES)
        name = f"source-{source}"
        documents = np.char.add("document-", (np.arange(len(rows)) // CHUNKS_A_DOCUMENT).astype(str))
        common = {"source": name, "tokens": 1, "char_start": 0, "char_end": 1, "heading": None, "page": None}
        entities = {"source": name, "extraction_key": "key", "type": "thing"}
        relations = {"source": name, "extraction_key": "key", "keywords": "link,measure", "weight": 1.0}
        tables = {
            "chunks": _table(
                CHUNKS,
                len(rows),
                common
                | {
                    "chunk_id": identity[rows],
                    "doc_id": documents,
                    "path": documents,
                    "chunk_index": np.arange(len(rows)) % CHUNKS_A_DOCUMENT,
                    "content": "",
                },
            ),
            "entity_mentions": _table(
                ENTITY_MENTIONS,
                len(rows) * ENTITIES,
                entities
                | {
                    "chunk_id": np.repeat(identity[rows], ENTITIES),
                    "mention_index": np.tile(np.arange(ENTITIES), len(rows)),
                    "name": spelled[rows].ravel(),
                    "description": texts[rows, :ENTITIES].ravel(),
                },
            ),
            "relation_mentions": _table(
                RELATION_MENTIONS,
                len(rows) * RELATIONS,
                relations
                | {
                    "chunk_id": np.repeat(identity[rows], RELATIONS),
                    "mention_index": np.tile(np.arange(RELATIONS), len(rows)),
                    "src": spelled[rows, :RELATIONS].ravel(),
                    "tgt": spelled[rows, 1 : RELATIONS + 1].ravel(),
                    "description": texts[rows, ENTITIES:].ravel(),
                },
            ),
        }
        paths = {table: folder / name / f"{table}.parquet" for table in tables}
        for table, path in paths.items():
            files.write_parquet(path, tables[table])
        inputs.append(MergeInput(name, **paths))
    return inputs


def _ranks(random: np.random.Generator, count: int, names: int, zipf: bool) -> np.ndarray:  # type: ignore[type-arg]
    if not zipf:
        return random.integers(0, names, count)
    return (RANK_SHIFT * ((names + RANK_SHIFT) / RANK_SHIFT) ** random.random(count) - RANK_SHIFT).astype(int)


def _texts(random: np.random.Generator, count: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return descriptions of about 80 characters, all different."""
    words = WORDS[random.integers(0, len(WORDS), (count, 10))].astype(object)
    return words.sum(axis=1) if False else np.array([" ".join(row) for row in words.tolist()], dtype=object) + random.integers(0, 2**40, count).astype(str)


def _table(schema: pa.Schema, rows: int, columns: dict[str, object]) -> pa.Table:
    arrays = [
        pa.array(value, field.type) if isinstance(value, np.ndarray) else pa.array([value]).cast(field.type).take(pa.array(np.zeros(rows, dtype=int)))
        for field in schema
        for value in [columns[field.name]]
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
