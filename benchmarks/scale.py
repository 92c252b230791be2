"""Every step of a build, in one process and in several, and what that says about more chunks and processors.

    python -m benchmarks.scale --chunks 20000
    python -m benchmarks.scale --chunks 1000000 --rule --engines processes

Made-up passages in four sources are built offline, each step in a process of its own, from reading the files to the
published snapshot. With `--rule` they are shorter, in one source, and a rule answers with three records a passage.

Printed are for each step its seconds, those of the processor in all its processes, and the peak memory of its largest
process. Then the seconds that each step would take with as many chunks and processors as `--model` and `--cores` say,
if it goes on as with the last engine: what one process did for as long as it took goes on in one process, and what
several did is divided among all.
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.passages import write_sources
from benchmarks.streaming import Rule, write_documents
from lightrag_dagster.core.protocols import OpenModel
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.graph import build_graph
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.snapshots import require_published
from lightrag_dagster.storage.tables.source_tables import SourceTables

SOURCES = 4
ENGINES = ("local", "processes")


class Cost(NamedTuple):
    """Seconds, seconds of the processor, and megabytes."""

    seconds: float
    processor: float
    megabytes: float


def steps(settings: Settings, rule: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps of a build in their order."""
    home, recipes = Home.of(settings), Recipes.of(settings)
    tables, sources = SourceTables(home), find_sources(settings)
    yield "read", lambda: [read_source(source, tables, recipes) for source in sources.values()]
    yield "chunk", lambda: [chunk_source(name, tables, recipes) for name in sources]
    llm = settings.llm
    model: OpenModel = Rule.open if rule else partial(open_chat_model, llm, home, "extract")
    yield "extract", lambda: [extract_source(name, tables, recipes, model) for name in sources]
    yield "parse", lambda: [parse_and_accept(name, tables, recipes) for name in sources]
    summariser = partial(open_chat_model, llm, home, "summarise")
    yield "merge", lambda: merge_sources(recipes, summariser)
    for table in VECTOR_TABLES:
        yield table, partial(embed, recipes, table, lambda _one, _engine: open_embedder(settings.embedding, home))
    yield "graph", lambda: build_graph(settings)
    yield "publish", lambda: publish_newest(settings)


def measured(folder: Path, engine: str, rule: bool) -> tuple[dict[str, Cost], str]:
    """Build with an engine, each step in a process of its own; return what each cost, and the id of the snapshot."""
    gleaning = {"gleaning": 0 if rule else 1}
    settings = load_settings(home=folder / engine, sources=folder / "sources", engine=engine, extraction=gleaning)
    costs = {}
    for name, _ in steps(settings, rule):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            costs[name] = pool.submit(one_step, settings, rule, name).result()
    return costs, require_published(Home.of(settings)).snapshot_id


def one_step(settings: Settings, rule: bool, name: str) -> Cost:
    """Do a step, and return what it cost."""
    step = dict(steps(settings, rule))[name]
    started, processor = time.perf_counter(), _processor()
    step()
    return Cost(time.perf_counter() - started, _processor() - processor, _peak())


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak() -> float:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(int(status["VmHWM"].split()[0]), children) / 1024


def modelled(several: Cost, factor: float, cores: int) -> float:
    """Return the seconds of a step with `factor` times the rows on so many processors."""
    here = os.cpu_count() or 1
    parallel = max(0.0, (several.processor / several.seconds - 1) / (here - 1)) if here > 1 else 0.0
    alone = 1 - min(1.0, parallel)
    return several.seconds * factor * (alone + (1 - alone) * here / cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--model", type=int, default=100_000_000, help="chunks to calculate for")
    parser.add_argument("--cores", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rule", action="store_true", help="short passages, and a rule in place of the extractor")
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if arguments.rule:
            write_documents(folder / "sources" / "reports", arguments.chunks)
        else:
            write_sources(folder / "sources", arguments.chunks, arguments.seed, SOURCES)
        costs, snapshots = {}, set()
        for engine in arguments.engines:
            costs[engine], snapshot = measured(folder, engine, arguments.rule)
            snapshots.add(snapshot)
    assert len(snapshots) == 1, "the engine shows in the result"
    print(f"{arguments.chunks} chunks, {os.cpu_count()} processors: seconds, seconds of the processor, megabytes")
    print(f"{'':17}" + "".join(f"{engine:>24}" for engine in arguments.engines) + f"{arguments.cores:>10} cores")
    factor, total = arguments.model / arguments.chunks, 0.0
    for name in costs[arguments.engines[0]]:
        total += (modelled_seconds := modelled(costs[arguments.engines[-1]][name], factor, arguments.cores))
        cells = "".join(f"{one.seconds:10.1f}{one.processor:7.1f}{one.megabytes:7.0f}" for one in _of(costs, name))
        print(f"{name:17}{cells}{modelled_seconds / 3600:14.1f} h", flush=True)
    sums = "".join(f"{sum(one.seconds for one in each.values()):10.1f}{'':14}" for each in costs.values())
    print(f"{'all':17}{sums}{total / 3600:14.1f} h for {arguments.model:,} chunks")


def _of(costs: dict[str, dict[str, Cost]], name: str) -> list[Cost]:
    return [each[name] for each in costs.values()]


if __name__ == "__main__":
    main()
