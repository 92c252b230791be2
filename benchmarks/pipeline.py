"""The whole pipeline on generated passages, offline.

    python -m benchmarks.pipeline --count 10000

Prints passages a second, seconds a Dagster step, seconds of each vector index, and the peak of resident memory of the
process. A second run, with nothing changed, is timed too.
"""

import argparse
import logging
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console

from benchmarks.passages import write_sources
from lightrag_dagster.cli.pipeline import bring_up_to_date
from lightrag_dagster.cli.progress import display
from lightrag_dagster.settings import load_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="passages")
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    index_log = logging.getLogger("lightrag_dagster.stores.lance")
    index_log.setLevel(logging.INFO)
    index_log.addHandler(logging.StreamHandler())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_sources(folder / "sources", arguments.count, arguments.seed, arguments.sources)
        settings = load_settings(home=folder / "home", sources=folder / "sources")
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            with display(Console()) as shown:
                outcome = bring_up_to_date(settings, [], shown)
            seconds.append(time.perf_counter() - started)
    assert outcome.manifest is not None
    rows = Counter(outcome.manifest.rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{rows['chunks']} chunks, {rows['entities']} entities, {rows['relations']} relations")
    print(f"{seconds[0]:.1f} s, {arguments.count / seconds[0]:.0f} passages/s; peak {peak:.0f} MB")
    print(f"run again with nothing changed: {seconds[1]:.1f} s")


if __name__ == "__main__":
    main()
