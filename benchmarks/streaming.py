"""Ingestion of one large source: seconds, those of the processor, and peak memory of each step, at several sizes.

    python -m benchmarks.streaming --documents 10000 100000 1000000

Documents of a few made-up sentences are read, cut, asked about and parsed, in one process each step. A rule answers in
place of a model, so that what is measured is ours. Then a document is edited, and all steps run once more.
"""

import argparse
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Usage
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

A_FOLDER = 1_000
PEOPLE, PLACES = 20_000, 2_000
VERBS = np.array(["inspected", "repaired", "measured", "closed", "visited", "described"])
STEPS = ("read", "chunk", "extract", "parse")


class Rule:
    """Answers with two entities and a relation, named by words of the text."""

    identity = "rule"
    awaited: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.usage = Usage()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        words = [word for word in request.messages[-1].content.split() if word[0].isupper()][-4:]
        first, second = words[0], words[-1]
        return ChatResponse(
            f"entity<|#|>{first}<|#|>person<|#|>{first} is named here.\n"
            f"entity<|#|>{second}<|#|>place<|#|>{second} is named here.\n"
            f"relation<|#|>{first}<|#|>{second}<|#|>work<|#|>{first} works at {second}.\n<|COMPLETE|>"
        )

    def is_stored(self, request: ChatRequest) -> bool:
        return False

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["Rule"]:
        yield cls()


class Cost(NamedTuple):
    """Seconds, those of the processor, and megabytes."""

    seconds: float
    worked: float
    megabytes: float


def write_documents(folder: Path, documents: int) -> None:
    """Write small text files, a thousand a folder."""
    random = np.random.default_rng(1)
    for start in range(0, documents, A_FOLDER):
        below = folder / f"{start // A_FOLDER:06}"
        below.mkdir(parents=True)
        people, places, verbs = (random.integers(0, most, (A_FOLDER, 6)) for most in (PEOPLE, PLACES, len(VERBS)))
        for number in range(min(A_FOLDER, documents - start)):
            sentences = zip(people[number], verbs[number], places[number], strict=True)
            text = " ".join(f"Person{one} {VERBS[verb]} the gauge at Place{place}." for one, verb, place in sentences)
            (below / f"{number:03}.txt").write_text(f"Report {start + number}. {text}")


def _step(name: str, settings: Settings) -> Cost:
    recipes, tables = Recipes.of(settings), SourceTables(Home.of(settings))
    steps: dict[str, Callable[[], object]] = {
        "read": lambda: read_source(find_source(settings, "reports"), tables, recipes),
        "chunk": lambda: chunk_source("reports", tables, recipes),
        "extract": lambda: extract_source("reports", tables, recipes, Rule.open),
        "parse": lambda: parse_and_accept("reports", tables, recipes),
    }
    started = time.perf_counter()
    steps[name]()
    seconds = time.perf_counter() - started
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return Cost(seconds, time.process_time(), int(status["VmHWM"].split()[0]) / 1024)


def measured(settings: Settings, names: Sequence[str] = STEPS) -> dict[str, Cost]:
    """Run every step in a process of its own."""
    costs = {}
    for name in names:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            costs[name] = pool.submit(partial(_step, name, settings)).result()
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS, help="the first of them, in their order")
    arguments = parser.parse_args()
    print(f"{'documents':>10} {'':12}" + "".join(f"{name:>28}" for name in arguments.steps))
    for documents in arguments.documents:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            write_documents(folder / "sources" / "reports", documents)
            settings = load_settings(
                home=folder / "home", sources=folder / "sources", extraction={"gleaning": 0}, engine="local"
            )
            for what in ("at first", "after an edit"):
                costs = measured(settings, arguments.steps)
                row = "".join(
                    f"{cost.seconds:8.1f} s{cost.worked:7.1f} s{cost.megabytes:6.0f} MB" for cost in costs.values()
                )
                print(f"{documents:10,} {what:12} {row}", flush=True)
                (folder / "sources" / "reports" / "000000" / "000.txt").write_text("Person1 left Place1.")
            shutil.rmtree(folder / "sources")


if __name__ == "__main__":
    main()
