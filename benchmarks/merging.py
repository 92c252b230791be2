"""The merge of made-up mentions: the one after a change, compared with the one of everything.

    python -m benchmarks.merging --mentions 1000000 --runs 4

Four sources hold chunks of six entity mentions and four relation mentions each, about 80 characters of description a
mention. `flat`: every name is as frequent as any other, three entity mentions a name. `zipf`: the r-th name is as
frequent as 1 / (r + 10), so that a few are in a large part of all chunks. A change replaces a share of the chunks, all
over the sources, by others.

Each merge runs in a process of its own, from reading the Parquet files to having written the merged ones, and before
or after it, in turn, the merge of everything from the same files. Printed are its seconds, those of the processor, its
peak memory, and both times as a share of the merge of everything: medians of all runs. `rewrite` reads and writes the
merged tables and merges nothing: no change can cost less.
"""

import argparse
import asyncio
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, EXTRACTIONS, RELATION_MENTIONS
from lightrag_dagster.settings import MergingSettings, load_settings
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.stages.merging.merge import open_merge
from lightrag_dagster.stages.merging.summaries import summarise
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.storage import files
from lightrag_dagster.storage.generations import store
from lightrag_dagster.storage.home import Home

Array = npt.NDArray[Any]

SHARES = (0.001, 0.01, 0.1, 1.0)
SOURCES = 4
ENTITIES, RELATIONS = 6, 4  # mentions of a chunk
CHUNKS_A_DOCUMENT = 5
MENTIONS_A_NAME = 3
RANK_SHIFT = 10
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


def write_inputs(folder: Path, chunks: int, zipf: bool, changed: float) -> list[MergeInput]:
    """Write the files of all sources; the same chunks every time, but for the changed share."""
    fresh = np.random.default_rng(0).random(chunks) < changed
    ids = np.char.add(np.where(fresh, "chunk-b", "chunk-a"), np.char.zfill(np.arange(chunks).astype(str), 8))

    def drawn(draw: Callable[[np.random.Generator], Array]) -> Array:
        return np.where(fresh[:, None], draw(np.random.default_rng(2)), draw(np.random.default_rng(1)))

    names = chunks * ENTITIES // MENTIONS_A_NAME
    named = np.char.add("Name ", drawn(lambda random: _ranks(random, (chunks, ENTITIES), names, zipf)).astype(str))
    texts = drawn(lambda random: _texts(random, (chunks, ENTITIES + RELATIONS)))
    return [
        _write_source(folder, f"source-{source}", ids[source::SOURCES], named[source::SOURCES], texts[source::SOURCES])
        for source in range(SOURCES)
    ]


def _write_source(folder: Path, source: str, ids: Array, names: Array, texts: Array) -> MergeInput:
    number = np.arange(len(ids))
    documents = np.char.add("document-", (number // CHUNKS_A_DOCUMENT).astype(str))
    positions = {"chunk_id": ids, "doc_id": documents, "path": documents, "chunk_index": number % CHUNKS_A_DOCUMENT}
    sizes = {"content": "", "tokens": 1, "char_start": 0, "char_end": 1, "heading": None, "page": None} | {
        "recipe": "recipe",
        "text_hash": "",
    }
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
        files.write_parquet(path, tables[name])
    return MergeInput(source, **paths)


def _mentions(schema: pa.Schema, source: str, ids: Array, columns: dict[str, Any]) -> pa.Table:
    a_chunk = columns["description"].shape[1]
    flat = {name: value.ravel() if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    index = np.tile(np.arange(a_chunk), len(ids))
    keys = {"source": source, "chunk_id": np.repeat(ids, a_chunk), "extraction_key": "key", "mention_index": index}
    return _table(schema, len(index), keys | flat)


def _table(schema: pa.Schema, rows: int, columns: dict[str, Any]) -> pa.Table:
    def column(field: pa.Field) -> pa.Array:
        value = columns[field.name]
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


def run_merge(inputs: list[MergeInput], previous: Previous | None, folder: Path) -> Previous:
    """Merge, and write the merged tables."""
    settings = MergingSettings()
    with open_merge(inputs, settings, "embedder", folder, previous) as merge:
        groups = merge.to_summarise(_rough_counts)
        summaries = asyncio.run(summarise(groups, Shortener(), load_prompts(None), settings, _rough_counts, 4))
        merged = merge.finish(summaries, "recipe")
    return _write_merged(folder, inputs, merged.tables)


def rewrite(inputs: list[MergeInput], previous: Previous, folder: Path) -> Previous:
    """Read and write the merged tables."""
    return _write_merged(folder, inputs, {name: files.read_parquet(path) for name, path in previous.tables.items()})


def _rough_counts(texts: list[str]) -> list[int]:
    return [len(text) // 4 for text in texts]


def _write_merged(folder: Path, inputs: list[MergeInput], tables: dict[str, pa.Table]) -> Previous:
    home = Home(folder)
    shutil.rmtree(home.generations, ignore_errors=True)
    generation = store(home, Recipes.of(load_settings()).generation_inputs({}, {}), tables, {}, 0)
    return Previous(inputs, {name: generation.path(f"{name}.parquet") for name in tables})


def timed(work: Callable[..., Previous], *arguments: Any) -> tuple[Previous, Cost]:
    """Run work in a process of its own; return what it returns and what it cost."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, arguments))


def _measured(work: Callable[..., Previous], arguments: tuple[Any, ...]) -> tuple[Previous, Cost]:
    started, processor = time.perf_counter(), time.process_time()
    result = work(*arguments)
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    # Not getrusage: its peak is at least what the parent held when it started this process.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return result, Cost(seconds, processor, int(status["VmHWM"].split()[0]) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mentions", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=4)
    arguments = parser.parse_args()
    chunks = arguments.mentions // (ENTITIES + RELATIONS)
    print(f"{'names':6} {'what':>16} {'seconds':>16} {'processor':>16} {'memory':>9}")
    for names in ("flat", "zipf"):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name in ("merged", "again"):
                (folder / name).mkdir()
            inputs = write_inputs(folder / "before", chunks, names == "zipf", 0.0)
            previous, _ = timed(run_merge, inputs, None, folder / "merged")

            def compare(what: str, *work: Any, names: str = names, folder: Path = folder) -> None:
                """Time work, and the merge of everything that is in the files it reads."""
                mine, whole = list[Cost](), list[Cost]()
                turns = [(work, mine), ((run_merge, work[1], None), whole)]
                for run in range(arguments.runs):
                    # Neither always comes first: the machine is not equally fast all the time.
                    for what_runs, costs in turns[:: 1 if run % 2 else -1]:
                        costs.append(timed(*what_runs, folder / "again")[1])
                times = [
                    f"{median(one[kind] for one in mine):8.1f} "
                    f"{median(one[kind] / other[kind] for one, other in zip(mine, whole, strict=True)):6.0%}"
                    for kind in range(2)
                ]
                memory = median(one.megabytes for one in mine)
                print(f"{names:6} {what:>16} {times[0]:>16} {times[1]:>16} {memory:6.0f} MB", flush=True)

            compare("everything", run_merge, inputs, None)
            compare("rewrite", rewrite, inputs, previous)
            for share in SHARES:
                changed = write_inputs(folder / f"after-{share}", chunks, names == "zipf", share)
                compare(f"{share:.1%} changed", run_merge, changed, previous)


if __name__ == "__main__":
    main()
