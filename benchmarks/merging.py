"""The merge of made-up mentions, in one part or several, in one process or two.

    python -m benchmarks.merging --mentions 1000000 --runs 3

Four sources hold chunks of six entity mentions and four relation mentions each, about 80 characters of description a
mention. `flat`: every name is as frequent as any other, three entity mentions a name. `zipf`: the r-th name is as
frequent as 1 / (r + 10), so that a few are in a large part of all chunks. `hub`: as `flat`, except that one name is in
a fifth of all chunks, and related to the same other name in a tenth.

Each merge runs in a process of its own, from reading the Parquet files to having written the merged ones. Printed are
medians of its seconds, those of the processor in all its processes, and the peak memory of its largest process. All of
them must have made the same tables.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.engines.engine import LOCAL
from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, EXTRACTIONS, RELATION_MENTIONS
from lightrag_dagster.settings import MergingSettings, load_settings
from lightrag_dagster.stages.merging.inputs import MergeInput, Rules
from lightrag_dagster.stages.merging.merge import open_merge
from lightrag_dagster.stages.merging.parts import Size
from lightrag_dagster.stages.merging.summaries import summarise
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import scratch_folder, store
from lightrag_dagster.storage.snapshots.scratch import SharedFolder

Array = npt.NDArray[Any]

SOURCES = 4
FREQUENCIES = ("flat", "zipf", "hub")
ENTITIES, RELATIONS = 6, 4  # mentions of a chunk
CHUNKS_A_DOCUMENT = 5
MENTIONS_A_NAME = 3
RANK_SHIFT = 10
IN_CHUNKS_OF_HUB = 0.2
WORDS = np.array(["weir", "gauge", "flood", "harbour", "archive", "station", "ledger", "survey", "bridge", "mill"])
WORDS_A_DESCRIPTION = 12


_EXTRACTED: dict[str, Any] = {
    **dict.fromkeys(EXTRACTIONS.names),
    **dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "cost_usd", "rounds"), 0),
    "extraction_key": "key",
    "model": "model",
    "responses": [],
    "status": "ok",
    "recipe": "recipe",
}


class Cost(NamedTuple):
    """Seconds, seconds of the processor, and megabytes."""

    seconds: float
    processor: float
    megabytes: float


class Shortener:
    """Summarises at once, so that the merge is what is timed."""

    identity = "shortener"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(request.messages[-1].content[:300])


def write_inputs(folder: Path, chunks: int, frequency: str) -> list[MergeInput]:
    """Write the files of all sources, one after the other, since ten million mentions do not fit into memory."""
    ids = np.char.add("chunk-", np.char.zfill(np.arange(chunks).astype(str), 8))
    names = chunks * ENTITIES // MENTIONS_A_NAME
    return [_write_source(folder, source, ids[source::SOURCES], names, frequency) for source in range(SOURCES)]


def _write_source(folder: Path, number_of_source: int, ids: Array, number_of_names: int, frequency: str) -> MergeInput:
    random, source = np.random.default_rng(number_of_source), f"source-{number_of_source}"
    ranks = _ranks(random, (len(ids), ENTITIES), number_of_names, frequency == "zipf")
    if frequency == "hub":
        drawn = random.random(len(ids))
        ranks[drawn < IN_CHUNKS_OF_HUB, 0] = number_of_names
        ranks[drawn < IN_CHUNKS_OF_HUB / 2, 1] = number_of_names + 1
    names = np.char.add("Name ", ranks.astype(str))
    texts = _texts(random, (len(ids), ENTITIES + RELATIONS))
    number = np.arange(len(ids))
    documents = np.char.add(f"document-{source}-", (number // CHUNKS_A_DOCUMENT).astype(str))
    positions = {"chunk_id": ids, "doc_id": documents, "path": documents, "chunk_index": number % CHUNKS_A_DOCUMENT}
    sizes = {"content": "", "tokens": 1, "char_start": 0, "char_end": 1, "recipe": "recipe", "text_hash": ""}
    tables = {
        "chunks": _table(CHUNKS, len(ids), {"source": source} | positions | sizes),
        "extractions": _table(EXTRACTIONS, len(ids), _EXTRACTED | {"source": source, "chunk_id": ids}),
        "entity_mentions": _mentions(
            ENTITY_MENTIONS, source, ids, {"name": names, "type": "thing", "description": texts[:, :ENTITIES]}
        ),
        "relation_mentions": _mentions(
            RELATION_MENTIONS,
            source,
            ids,
            {"src": names[:, :RELATIONS], "tgt": names[:, 1 : RELATIONS + 1], "description": texts[:, ENTITIES:]}
            | {"keywords": "link,measure", "weight": 1.0},
        ),
    }
    paths = {name: folder / source / f"{name}.parquet" for name in tables}
    for name, path in paths.items():
        atomic.write_parquet(path, tables[name])
    return MergeInput(source, **{name: (path,) for name, path in paths.items()})


def _mentions(schema: pa.Schema, source: str, ids: Array, columns: dict[str, Any]) -> pa.Table:
    a_chunk = columns["description"].shape[1]
    flat = {name: value.ravel() if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    index = np.tile(np.arange(a_chunk), len(ids))
    keys = {"source": source, "chunk_id": np.repeat(ids, a_chunk), "extraction_key": "key", "mention_index": index}
    return _table(schema, len(index), keys | flat)


def _table(schema: pa.Schema, rows: int, columns: dict[str, Any]) -> pa.Table:
    def column(field: pa.Field) -> pa.Array:
        value = columns.get(field.name) if field.nullable else columns[field.name]
        if isinstance(value, np.ndarray):
            return pa.array(value, field.type)
        return pa.nulls(rows, field.type) if value is None else pa.repeat(pa.scalar(value, field.type), rows)

    return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def _ranks(random: np.random.Generator, shape: tuple[int, int], names: int, zipf: bool) -> Array:
    if not zipf:
        return random.integers(0, names, shape)
    return np.asarray(RANK_SHIFT * (names / RANK_SHIFT + 1) ** random.random(shape) - RANK_SHIFT).astype(np.int64)


def _texts(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    drawn = WORDS[random.integers(0, len(WORDS), (shape[0] * shape[1], WORDS_A_DESCRIPTION))].tolist()
    return np.array([" ".join(words) for words in drawn]).reshape(shape)


def run_merge(inputs: list[MergeInput], folder: Path, workers: int, bits: int) -> dict[str, str]:
    """Merge, write the merged tables, and return their versions."""
    settings, home = MergingSettings(), Home(folder)
    with scratch_folder(home) as scratch:
        with (
            ProcessEngine(workers) if workers > 1 else nullcontext(LOCAL) as engine,
            open_merge(SharedFolder(scratch), inputs, Rules(settings, "embedder"), None, engine, Size(bits)) as merge,
        ):
            groups = merge.to_summarise(_rough_counts)
            summaries = asyncio.run(summarise(groups, Shortener(), load_prompts(None), settings, _rough_counts, 4))
            merged = merge.finish(summaries, "recipe")
        nothing = Recipes.of(load_settings()).generation_inputs({})
        generation = store(home, nothing, merged._asdict(), {}, 0)
    return dict(generation.record().tables)


def _rough_counts(texts: list[str]) -> list[int]:
    return [len(text) // 4 for text in texts]


def timed(*arguments: Any) -> tuple[dict[str, str], Cost]:
    """Merge in a process of its own; return the versions of the tables, and what it cost."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, *arguments).result()


def _measured(*arguments: Any) -> tuple[dict[str, str], Cost]:
    started = time.perf_counter()
    versions = run_merge(*arguments)
    seconds = time.perf_counter() - started
    times, workers = os.times(), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = times.user + times.system + times.children_user + times.children_system
    # Not getrusage: its peak is at least what the parent held when it started this process.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return versions, Cost(seconds, processor, max(int(status["VmHWM"].split()[0]), workers.ru_maxrss) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mentions", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--names", nargs="+", choices=FREQUENCIES, default=FREQUENCIES)
    parser.add_argument("--alone", action="store_true", help="only in one process, in as many parts as needed")
    arguments = parser.parse_args()
    chunks = arguments.mentions // (ENTITIES + RELATIONS)
    needed = Size.of(chunks * (ENTITIES + RELATIONS)).bits
    ways = {"1 part": (1, 0), "8 parts": (1, 3), "as needed": (1, needed), "2 workers, 8 parts": (2, 3)}
    if arguments.alone:
        ways = {"as needed": ways["as needed"]}
    print(f"{'names':6} {'how':>22} {'seconds':>8} {'processor':>10} {'memory':>9}")
    for names in arguments.names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            inputs = write_inputs(folder / "inputs", chunks, names)
            costs, versions = {way: list[Cost]() for way in ways}, list[dict[str, str]]()
            # In turn: the machine is not equally fast all the time.
            for run, (way, how) in product(range(arguments.runs), ways.items()):
                made, cost = timed(inputs, folder / f"{run}-{way}", *how)
                versions.append(made)
                costs[way].append(cost)
            assert all(one == versions[0] for one in versions), "the number of parts shows in the rows"
            for way, measured in costs.items():
                seconds, processor, memory = (median(one[kind] for one in measured) for kind in range(3))
                print(f"{names:6} {way:>22} {seconds:8.1f} {processor:10.1f} {memory:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
