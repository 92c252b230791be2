"""Files into documents and chunks through a home: the speed of both stages, as a run does them.

    python -m benchmarks.throughput --megabytes 200 --engine processes

Made-up passages in text files of 16 KB are read and cut, with all that a run writes; `MB/s` of each step and of both.
The seconds of the processor are those of this process and of its workers. A first source of one file starts what is
started once: the tokenizer and the model that tells languages, and in workers of an engine their imports.
"""

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.chunking import PARAGRAPHS_A_FILE, markdown
from benchmarks.passages import generate
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

A_FOLDER = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--engine", default="local", choices=["local", "processes"])
    parser.add_argument("--suffix", default=".txt", choices=[".txt", ".md"])
    parser.add_argument("--methods", nargs="+", default=["token", "character"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        size = write_files(folder / "sources" / "large", given.megabytes, given.suffix) / 1e6
        write_files(folder / "sources" / "first", 0, given.suffix)
        print(f"{size:.0f} MB{'':9}{'read':>14}{'chunks':>14}{'both':>14}{'a CPU':>8}")
        for method in given.methods:
            settings = load_settings(
                home=folder / method, sources=folder / "sources", chunking={"method": method}, engine=given.engine
            )
            _costs("first", settings)
            costs = _costs("large", settings)
            seconds, worked = sum(took for took, _ in costs), sum(cpu for _, cpu in costs)
            speeds = [size / took for took, _ in costs] + [size / seconds]
            print(
                f"{method:14}" + "".join(f"{speed:9.1f} MB/s" for speed in speeds) + f"{size / worked:8.1f}", flush=True
            )


def write_files(folder: Path, megabytes: int, suffix: str) -> int:
    """Write files until they have so many megabytes, at least one; return their bytes."""
    paragraphs, written, number = generate(10_000_000, seed=1), 0, 0
    while number == 0 or written < megabytes * 1_000_000:
        below = folder / f"{number // A_FOLDER:04}"
        below.mkdir(parents=True, exist_ok=True)
        text = markdown(list(itertools.islice(paragraphs, PARAGRAPHS_A_FILE)))
        written += (below / f"{number:06}{suffix}").write_text(text)
        number += 1
    return written


def _costs(source: str, settings: Settings) -> list[tuple[float, float]]:
    """Return the seconds that reading and cutting a source take, and those of processors."""
    tables, recipes = SourceTables(Home.of(settings)), Recipes.of(settings)
    steps: list[Callable[[], object]] = [
        lambda: read_source(find_source(settings, source), tables, recipes),
        lambda: chunk_source(source, tables, recipes),
    ]
    return [_cost(step) for step in steps]


def _cost(step: Callable[[], object]) -> tuple[float, float]:
    started, before = time.perf_counter(), os.times()
    step()
    after = os.times()
    return time.perf_counter() - started, sum(after[:4]) - sum(before[:4])


if __name__ == "__main__":
    main()
