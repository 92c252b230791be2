"""The whole pipeline on generated passages, offline.

    python -m benchmarks.pipeline --count 10000

Prints passages a second, seconds of each vector index, and seconds and peak resident memory of each Dagster step. A
second run, with nothing changed, is timed too.
"""

import argparse
import logging
import resource
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.passages import write_sources
from lightrag_dagster.cli.progress import TerminalDisplay
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.settings import load_settings


class Meter(TerminalDisplay):
    """Notes when each step begins, and the most memory that was seen while it ran. Megabytes."""

    def __init__(self) -> None:
        super().__init__(Progress(console=Console(quiet=True)))
        self.started: list[tuple[str, float]] = []
        self.peaks: Counter[str] = Counter()
        threading.Thread(target=self._sample, daemon=True).start()

    def start(self, step: str) -> None:
        """Note that a step begins."""
        super().start(step)
        self.started.append((step, time.perf_counter()))

    def table(self) -> list[tuple[str, float, int]]:
        """Return name, seconds and megabytes of each step."""
        ends = [*(started for _, started in self.started[1:]), time.perf_counter()]
        return [(step, end - begun, self.peaks[step]) for (step, begun), end in zip(self.started, ends, strict=True)]

    def _sample(self) -> None:
        while True:
            if self.started:
                step = self.started[-1][0]
                self.peaks[step] = max(self.peaks[step], _resident())
            time.sleep(0.05)


def _resident() -> int:
    """Return what this process holds in memory now. Megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="passages")
    parser.add_argument("--sources", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    index_log = logging.getLogger("lightrag_dagster.indexes.vector_index")
    index_log.setLevel(logging.INFO)
    index_log.addHandler(logging.StreamHandler())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_sources(folder / "sources", arguments.count, arguments.seed, arguments.sources)
        settings = load_settings(home=folder / "home", sources=folder / "sources")
        seconds, meters = [], [Meter(), Meter()]
        for meter in meters:
            started = time.perf_counter()
            outcome = bring_up_to_date(settings, [], meter)
            seconds.append(time.perf_counter() - started)
    assert outcome.states.manifest is not None
    rows = Counter(outcome.states.manifest.rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for step, took, megabytes in meters[0].table():
        print(f"{step:30} {took:7.1f} s {megabytes:7} MB")
    print(f"{rows['chunks']} chunks, {rows['entities']} entities, {rows['relations']} relations")
    print(f"{seconds[0]:.1f} s, {arguments.count / seconds[0]:.0f} passages/s; peak {peak:.0f} MB")
    print(f"run again with nothing changed: {seconds[1]:.1f} s")


if __name__ == "__main__":
    main()
