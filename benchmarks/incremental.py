"""What a run costs after a change: the whole pipeline on generated passages, offline.

    python -m benchmarks.incremental --count 10000

Builds the passages of two sources, then changes a share of them, evenly spread, and runs again, share after share; no
new passage was there before. Printed are the seconds of each run and of its longest steps, calls of the language model,
texts embedded, and megabytes that the process wrote, to whatever file.
"""

import argparse
import itertools
import sqlite3
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.passages import generate, write_sources
from benchmarks.pipeline import Meter
from lightrag_dagster.cli.pipeline import bring_up_to_date
from lightrag_dagster.cost.ledger import Ledger
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stores.home import Home

SHARES = (0.0, 0.001, 0.01, 0.1, 1.0)
SOURCES = 2
SEED = 1
LONGEST_STEPS = 4


class Totals(NamedTuple):
    """What was done in a home so far."""

    extractions: int
    summaries: int
    texts: int
    megabytes: float


def totals(home: Home) -> Totals:
    """Return what was done in a home, and written by this process, so far."""
    if not home.vectors.exists():
        return Totals(0, 0, 0, _written())
    bought = Ledger(home.ledger).by_purpose()
    with closing(sqlite3.connect(home.vectors)) as connection:
        texts = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    calls = [bought[purpose].calls if purpose in bought else 0 for purpose in ("extract", "summarise")]
    return Totals(*calls, texts, _written())


def _written() -> float:
    """Return what this process gave to write calls. Megabytes."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["wchar"]) / 1e6


def show(what: str, settings: Settings) -> None:
    """Run, and print what it cost."""
    before, meter, started = totals(Home(settings.home)), Meter(), time.perf_counter()
    bring_up_to_date(settings, [], meter)
    seconds = time.perf_counter() - started
    spent = Totals(*(now - then for now, then in zip(totals(Home(settings.home)), before, strict=True)))
    milliseconds: Counter[str] = Counter()
    for step, took, _ in meter.table() if meter.started else []:
        milliseconds[step] += int(took * 1000)
    longest = ", ".join(f"{step} {took / 1000:.1f}" for step, took in milliseconds.most_common(LONGEST_STEPS))
    print(
        f"{what:>8} {seconds:8.1f} {spent.extractions:11} {spent.summaries:9} {spent.texts:8} {spent.megabytes:8.0f}"
        f"   {longest}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="passages")
    count = parser.parse_args().count
    numbers = [round(count * share) for share in SHARES]
    others = itertools.islice(generate(count + sum(numbers), SEED), count, None)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_sources(folder / "sources", count, SEED, SOURCES)
        documents = sorted((folder / "sources").rglob("*.txt"))
        settings = load_settings(home=folder / "home", sources=folder / "sources")
        columns = f"{'changed':>8} {'seconds':>8} {'extractions':>11} {'summaries':>9} {'embedded':>8} {'MB':>8}"
        print(f"{columns}   longest steps")
        show("built", settings)
        for share, number in zip(SHARES, numbers, strict=True):
            for document in documents[:: count // number] if number else []:
                document.write_text(next(others) + "\n", encoding="utf-8")
            show(f"{share:.1%}", settings)


if __name__ == "__main__":
    main()
