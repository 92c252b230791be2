"""The benchmark beside LightRAG: both systems in turn, the results as JSON and as a report.

    make bench
    make bench BENCH='--count 100 200 400 600 --rounds 1'

Before anything is timed each system indexes a few passages, so that Python has compiled it and the files are in memory.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.bench import ROOT, lightrag, ours
from benchmarks.bench.changes import CHANGES, passages_needed
from benchmarks.bench.corpus import MOST
from benchmarks.bench.environment import VERSION
from benchmarks.bench.machine import Others, machine
from benchmarks.bench.report import report
from benchmarks.bench.results import Result, Trial, as_json, as_rows
from benchmarks.bench.server import serving

_WARM_UP = 5
"""Passages that are indexed before anything is timed."""


class System(Protocol):
    """A system that is measured."""

    def measure(self, trial: Trial, folder: Path) -> Iterator[Result]:
        """Do the operations of a trial in an empty folder, one after the other."""
        ...


def main(given: Sequence[str] | None = None) -> None:
    parser = _parser()
    arguments = parser.parse_args(given)
    if not 0 < min(arguments.count) <= max(arguments.count) <= MOST:
        parser.error(f"--count must be 1 to {MOST}")
    settings = {
        "LightRAG": lightrag.settings_of(arguments.dimensions, arguments.concurrency),
        "ours": ours.settings_of(arguments.dimensions, arguments.concurrency),
    }
    stored = {
        "machine": machine(Path(tempfile.gettempdir())),
        "versions": {"LightRAG": VERSION, "ours": version("lightrag-dagster")},
        "settings": settings,
        "latency": arguments.latency,
    }
    others, results = Others(), list[Result]()
    with serving(passages_needed(max(arguments.count)), arguments.dimensions, arguments.latency) as server:
        systems: dict[str, System] = {}
        if "LightRAG" in arguments.systems:
            systems["LightRAG"] = lightrag.LightRAG(server, settings["LightRAG"])
        if "ours" in arguments.systems:
            systems["ours"] = ours.Ours(server, settings["ours"])
        for system in systems.values():
            _done(system, Trial(_WARM_UP, 0, (), arguments.modes[:1]))
        for count in arguments.count:
            for number in range(1, arguments.rounds + 1):
                for name, system in systems.items():
                    print(f"{count} passages, round {number} of {arguments.rounds}: {name}", flush=True)
                    results += _done(system, Trial(count, number, arguments.operations, arguments.modes))
    stored["processors_busy_with_others"] = round(others.processors(), 2)
    _write(stored | as_rows(results), arguments.output)


def _done(system: System, trial: Trial) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        return list(system.measure(trial, Path(folder)))


def _write(stored: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lightrag.json").write_text(as_json(stored))
    (folder / "lightrag.md").write_text(report(stored))
    print(f"{folder / 'lightrag.md'}, and every number in lightrag.json beside it")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, nargs="+", default=[100, 200], help=f"passages, up to {MOST}")
    parser.add_argument("--rounds", type=int, default=3, help="how often each system is measured, in turn")
    parser.add_argument("--systems", nargs="+", choices=("LightRAG", "ours"), default=["LightRAG", "ours"])
    parser.add_argument("--operations", nargs="*", choices=CHANGES, default=CHANGES, help="after indexing")
    parser.add_argument("--modes", nargs="+", choices=ours.MODES, default=ours.MODES)
    parser.add_argument("--dimensions", type=int, default=384, help="of every vector")
    parser.add_argument("--concurrency", type=int, default=32, help="calls of the language model at once")
    parser.add_argument("--latency", type=float, default=0.0, help="of the server's responses. Seconds")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "measurements")
    return parser


if __name__ == "__main__":
    main()
