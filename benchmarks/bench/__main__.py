"""The benchmark beside LightRAG: both systems in turn, the results as JSON and as a report.

    make bench
    make bench BENCH='--count 100 200 --once 400 600 --rounds 1'

Before anything is timed each system indexes a few passages, so that Python has compiled it and the files are in memory.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.bench import ROOT, lightrag, ours
from benchmarks.bench.changes import CHANGES, passages_needed
from benchmarks.bench.corpus import MOST
from benchmarks.bench.environment import VERSION
from benchmarks.bench.machine import Others, machine
from benchmarks.bench.plots import plots
from benchmarks.bench.report import report
from benchmarks.bench.results import Result, Trial, as_json, as_rows
from benchmarks.bench.server import Server, serving

_WARM_UP = 5
"""Passages that are indexed before anything is timed, in round 0."""


class System(Protocol):
    """A system that is measured."""

    def measure(self, trial: Trial, folder: Path) -> Iterator[Result]:
        """Do the operations of a trial in an empty folder, one after the other."""
        ...


def main(given: Sequence[str] | None = None) -> None:
    parser = _parser()
    arguments = parser.parse_args(given)
    every = [*arguments.count, *arguments.once, arguments.slow_count]
    if not 0 < min(every) <= max(every) <= MOST:
        parser.error(f"--count, --once and --slow-count must be 1 to {MOST}")
    settings = {
        "LightRAG": lightrag.settings_of(arguments.dimensions, arguments.concurrency),
        "ours": ours.settings_of(arguments.dimensions, arguments.concurrency),
    }
    stored = {
        "machine": machine(Path(tempfile.gettempdir())),
        "versions": {"LightRAG": VERSION, "ours": _our_version()},
        "settings": settings,
        "concurrency": arguments.concurrency,
    }
    others, results = Others(), list[Result]()
    trials = [
        Trial(count, number, arguments.operations, arguments.modes)
        for number in range(1, arguments.rounds + 1)
        for count in (*arguments.count, *(arguments.once if number == 1 else ()))
    ]
    warm_up = [Trial(_WARM_UP, 0, (), arguments.modes[:1])]
    slow = [Trial(arguments.slow_count, 1, (), (), arguments.slow)] if arguments.slow else []
    for latency, of_it in ((0.0, [*warm_up, *trials]), (arguments.slow, slow)):
        with serving(passages_needed(max(*every, _WARM_UP)), arguments.dimensions, latency) as server:
            systems = _systems(arguments.systems, server, settings)
            for trial in of_it:
                for name, system in systems.items():
                    print(f"{trial.count} passages, {latency:g} s latency, round {trial.round}: {name}", flush=True)
                    done = _done(system, server, trial)
                    results += done if trial.round else []
    stored["processors_busy_with_others"] = round(others.processors(), 2)
    _write(stored | as_rows(results), arguments.output)


def _our_version() -> str:
    """Return the version of this package, with the commit, if this is a checkout."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return " ".join(filter(None, (version("lightrag-dagster"), commit)))


def _systems(names: Sequence[str], server: Server, settings: Mapping[str, Any]) -> dict[str, System]:
    made: dict[str, Callable[[Server, Any], System]] = {"LightRAG": lightrag.LightRAG, "ours": ours.Ours}
    return {name: make(server, settings[name]) for name, make in made.items() if name in names}


def _done(system: System, server: Server, trial: Trial) -> list[Result]:
    server.forget()
    with tempfile.TemporaryDirectory() as folder:
        return list(system.measure(trial, Path(folder)))


def _write(stored: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored["plots"] = plots(stored, folder)
    text = as_json(stored)
    (folder / "lightrag.json").write_text(text)
    (folder / "lightrag.md").write_text(report(json.loads(text)))  # of the rounded numbers, to be made again alike
    print(f"{folder / 'lightrag.md'}, and every number in lightrag.json beside it")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, nargs="+", default=[100, 200], help=f"passages, up to {MOST}")
    parser.add_argument("--once", type=int, nargs="*", default=[], help="passages that only one round has")
    parser.add_argument("--rounds", type=int, default=3, help="how often each system is measured, in turn")
    parser.add_argument("--systems", nargs="+", choices=("LightRAG", "ours"), default=["LightRAG", "ours"])
    parser.add_argument("--operations", nargs="*", choices=CHANGES, default=CHANGES, help="after indexing")
    parser.add_argument("--modes", nargs="+", choices=ours.MODES, default=ours.MODES)
    parser.add_argument("--dimensions", type=int, default=384, help="of every vector")
    parser.add_argument("--concurrency", type=int, default=32, help="calls of the language model at once")
    parser.add_argument("--slow", type=float, default=0.2, help="latency of a further index; 0 for none. Seconds")
    parser.add_argument("--slow-count", type=int, default=200, help="passages of that index")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "measurements")
    return parser


if __name__ == "__main__":
    main()
