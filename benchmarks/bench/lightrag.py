"""LightRAG as it comes: its own stores, its own client of the server, its defaults except how much it does at once."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT
from benchmarks.bench.changes import Change, changes, index
from benchmarks.bench.environment import VOCABULARY, lightrag_python
from benchmarks.bench.measuring import Command, CommandError, Cost, size_of
from benchmarks.bench.questions import FIRST, asked, request
from benchmarks.bench.results import Made, Operation, Result, Trial, Way
from benchmarks.bench.server import Server

MODES = ("naive", "local", "global", "hybrid", "mix")
_PROGRAM = "benchmarks.bench.programs.lightrag_side"


def settings_of(dimensions: int, concurrency: int) -> dict[str, Any]:
    """Return the arguments of LightRAG that are not its defaults.

    Its documentation advises a third as many documents in parallel as calls.
    """
    parallel = max(1, concurrency // 3)
    return {"dimensions": dimensions, "llm_model_max_async": concurrency, "max_parallel_insert": parallel}


class LightRAG:
    """LightRAG, in an environment of its own."""

    def __init__(self, server: Server, settings: Mapping[str, Any]) -> None:
        self._server, self._settings = server, settings
        self._python = lightrag_python()
        self._environment = {
            "PYTHONPATH": str(ROOT),
            "OPENAI_API_BASE": server.url,
            "OPENAI_API_KEY": "none",
            "TIKTOKEN_CACHE_DIR": str(VOCABULARY),
        }

    def measure(self, trial: Trial, folder: Path) -> Iterator[Result]:
        """Index passages by a command; then make the changes twice, by commands and in a process, which then asks.

        Raises:
            CommandError: a process failed, or did not process every document.
        """
        warm, by_commands = folder / "warm", folder / "commands"
        first = index(trial.count)
        yield self._by_command(trial, first, warm, set(first.inserted))
        shutil.copytree(warm, by_commands)
        documents = set(first.inserted)
        with self._process(warm) as process:
            for change in changes(trial.count, trial.operations):
                documents = documents.difference(change.deleted).union(change.inserted)
                answer = _changed(process, change, documents)
                cost = Cost(**answer["cost"], imports=None, peak=None)
                yield self._operation(trial, change.operation, "warm", cost, answer["clients"], warm)
                yield self._by_command(trial, change, by_commands, documents)
            if trial.modes:
                yield self._first_question(trial, warm)
            for mode in (mode for mode in trial.modes if mode in MODES):
                yield asked("LightRAG", process, trial, mode, self._server)
            graph = process.ask({"graph": True})
            yield Made("LightRAG", trial.count, trial.round, graph["entities"], graph["relations"])
            process.cost()

    def _by_command(self, trial: Trial, change: Change, folder: Path, documents: set[str]) -> Operation:
        with self._process(folder) as process:
            answer = _changed(process, change, documents)
            return self._operation(trial, change.operation, "command", process.cost(), answer["clients"], folder)

    def _first_question(self, trial: Trial, folder: Path) -> Operation:
        with self._process(folder) as process:
            answer = process.ask(request(trial.modes[0], 1))
            return self._operation(trial, FIRST, "command", process.cost(), answer["clients"] / 1000, folder)

    def _process(self, folder: Path) -> Command:
        command = [str(self._python), "-m", _PROGRAM, str(folder), json.dumps(self._settings)]
        return Command(command, folder.parent, self._environment)

    def _operation(self, trial: Trial, operation: str, way: Way, cost: Cost, clients: float, folder: Path) -> Operation:
        counts, kept = self._server.counts(), size_of(folder)
        return Operation(
            "LightRAG",
            trial.count,
            trial.round,
            operation,
            way,
            cost,
            kept,
            counts,
            clients,
            trial.latency,
        )


def _changed(process: Command, change: Change, documents: set[str]) -> dict[str, Any]:
    answer: dict[str, Any] = process.ask({"delete": change.deleted, "insert": change.inserted})
    if answer["processed"] != len(documents):
        said = f"LightRAG processed {answer['processed']} of {len(documents)} documents"
        raise CommandError(f"{change.operation}: {said}")
    return answer
