"""This package, by its command line and its `KnowledgeBase`."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.bench import ROOT
from benchmarks.bench.changes import Change, changes, index
from benchmarks.bench.measuring import Command, cost_of, size_of
from benchmarks.bench.questions import asked
from benchmarks.bench.results import Made, Operation, Result, Trial
from benchmarks.bench.server import Server

MODES = ("naive", "local", "global", "hybrid", "mix", "fusion", "ppr")
GC = "gc"
_PROGRAM = "benchmarks.bench.programs.our_side"
_SOURCE = "musique"


def settings_of(dimensions: int, concurrency: int) -> dict[str, str]:
    """Return the settings that are not the defaults, as variables."""
    return {
        "LIGHTRAG_LLM__PROVIDER": "openai",
        "LIGHTRAG_LLM__MAX_CONCURRENCY": str(concurrency),
        "LIGHTRAG_EMBEDDING__PROVIDER": "openai",
        "LIGHTRAG_EMBEDDING__DIMENSIONS": str(dimensions),
    }


class Ours:
    """This package, in the environment that this runs in."""

    def __init__(self, server: Server, settings: Mapping[str, str]) -> None:
        self._server = server
        self._settings = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", **settings}
        self._command = Path(sys.executable).with_name("lightrag-dagster")

    def measure(self, trial: Trial, folder: Path) -> Iterator[Result]:
        """Index passages, make the changes and clean up, each by a command; then ask.

        Raises:
            CommandError: a command failed.
        """
        home, documents = folder / "home", folder / "sources" / _SOURCE
        documents.mkdir(parents=True)
        environment = {
            **self._settings,
            "LIGHTRAG_HOME": str(home),
            "LIGHTRAG_SOURCES": str(documents.parent),
        }
        for change in (index(trial.count), *changes(trial.count, trial.operations)):
            _write(change, documents)
            yield self._operation(trial, change.operation, "run", home, environment)
        yield self._operation(trial, GC, "gc", home, environment)
        program = [sys.executable, "-m", _PROGRAM, str(home)]
        with Command(program, folder, environment | {"PYTHONPATH": str(ROOT)}) as process:
            for mode in (mode for mode in trial.modes if mode in MODES):
                yield asked("ours", process, trial, mode, self._server)
            graph = process.ask({"graph": True})
            yield Made("ours", trial.count, trial.round, graph["entities"], graph["relations"])
            process.cost()

    def _operation(
        self, trial: Trial, operation: str, command: str, home: Path, environment: Mapping[str, str]
    ) -> Operation:
        cost = cost_of([str(self._command), command], home.parent, environment)
        counts, kept = self._server.counts(), size_of(home)
        return Operation("ours", trial.count, trial.round, operation, "command", cost, kept, counts)


def _write(change: Change, folder: Path) -> None:
    """Write what changes; a file whose content stays keeps its time."""
    for name in change.deleted:
        if name not in change.inserted:
            (folder / f"{name}.txt").unlink()
    for name, text in change.inserted.items():
        file = folder / f"{name}.txt"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
