"""What a run costs after a change: the whole pipeline on generated passages, offline.

    python -m benchmarks.incremental --count 10000

Builds the passages of two sources, then changes a share of them, evenly spread, and runs again, share after share; no
new passage was there before. Printed are the seconds of each run and of its longest steps, calls of the language model,
texts embedded, and megabytes that the process wrote to all files.
"""

import argparse
import itertools
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.passages import generate, write_sources
from benchmarks.pipeline import Meter
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home

SHARES = (0.0, 0.001, 0.01, 0.1, 1.0)
SOURCES = 2
SEED = 1
LONGEST_STEPS = 4
_COUNTERS = Path("/proc/self/io")


def totals(home: Home) -> Counter[str]:
    """Return what was done in a home, and how many bytes this process gave to write calls, so far."""
    done = Counter(written=int(dict(line.split(": ") for line in _COUNTERS.read_text().splitlines())["wchar"]))
    for purpose, entry in Ledger(home.ledger).by_purpose().items():
        done[purpose] = entry.calls
    with VectorStore(home.vectors) as vectors:
        done["texts"] = vectors.count()
    return done


def show(what: str, settings: Settings) -> None:
    """Run, and print what it cost."""
    before, meter, started = totals(Home.of(settings)), Meter(), time.perf_counter()
    bring_up_to_date(settings, [], meter)
    seconds = time.perf_counter() - started
    spent = totals(Home.of(settings)) - before
    milliseconds: Counter[str] = Counter()
    for step, took, _ in meter.table() if meter.started else []:
        milliseconds[step] += int(took * 1000)
    longest = ", ".join(f"{step} {took / 1000:.1f}" for step, took in milliseconds.most_common(LONGEST_STEPS))
    print(
        f"{what:>8} {seconds:8.1f} {spent['extract']:11} {spent['summarise']:9} {spent['texts']:8} "
        f"{spent['written'] / 1e6:8.0f}   {longest}",
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
