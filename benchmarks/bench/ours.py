"""This package, by its command line and its `KnowledgeBase`."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.bench import ROOT
from benchmarks.bench.changes import Change, changes, index
from benchmarks.bench.corpus import questions
from benchmarks.bench.measuring import Command, Cost, cost_of, size_of
from benchmarks.bench.questions import FIRST, asked, filtered, request
from benchmarks.bench.results import Made, Operation, Result, Trial
from benchmarks.bench.server import Server

MODES = ("naive", "local", "global", "hybrid", "mix", "fusion", "ppr", filtered("mix"), filtered("fusion"))
GC = "gc"
QUERY = "first question, by `query`"
_PROGRAM = "benchmarks.bench.programs.our_side"
_SOURCE = "musique"


def settings_of(dimensions: int, concurrency: int) -> dict[str, str]:
    """Return the settings that are not the defaults, as variables."""
    return {
        "LIGHTRAG_LLM__PROVIDER": "openai",
        "LIGHTRAG_LLM__MODEL": "gpt-6-luna",
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
            yield self._operation(trial, change.operation, home, self._run(["run"], home, environment))
        if trial.operations:
            yield self._operation(trial, GC, home, self._run(["gc"], home, environment))
        program = [sys.executable, "-m", _PROGRAM, str(home)]
        environment |= {"PYTHONPATH": str(ROOT)}
        if trial.modes:
            with Command(program, folder, environment) as process:
                process.ask(request(trial.modes[0], 1))
                yield self._operation(trial, FIRST, home, process.cost())
            yield self._operation(trial, QUERY, home, self._run(_query(trial.modes[0]), home, environment))
        with Command(program, folder, environment) as process:
            for mode in (mode for mode in trial.modes if mode in MODES):
                yield asked("ours", process, trial, mode, self._server)
            graph = process.ask({"graph": True})
            yield Made("ours", trial.count, trial.round, graph["entities"], graph["relations"])
            process.cost()

    def _run(self, arguments: Sequence[str], home: Path, environment: Mapping[str, str]) -> Cost:
        return cost_of([str(self._command), *arguments], home.parent, environment)

    def _operation(self, trial: Trial, operation: str, home: Path, cost: Cost) -> Operation:
        counts, kept = self._server.counts(), size_of(home)
        return Operation(
            "ours", trial.count, trial.round, operation, "command", cost, kept, counts, latency=trial.latency
        )


def _query(mode: str) -> list[str]:
    """Return the arguments of the command that asks the first question, with its keywords and without an answer."""
    first = questions()[0]
    low, high = (
        [part for keyword in keywords for part in (option, keyword)]
        for option, keywords in (("--low-level", first.low_level), ("--high-level", first.high_level))
    )
    return ["query", first.text, "--mode", mode, "--only-context", *low, *high]


def _write(change: Change, folder: Path) -> None:
    """Write what changes; a file whose content stays keeps its time."""
    for name in change.deleted:
        if name not in change.inserted:
            (folder / f"{name}.txt").unlink()
    for name, text in change.inserted.items():
        file = folder / f"{name}.txt"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
