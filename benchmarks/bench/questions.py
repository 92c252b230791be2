"""Questions to a process that answers lines of JSON."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from benchmarks.bench.changes import documents_after
from benchmarks.bench.corpus import questions
from benchmarks.bench.measuring import Command
from benchmarks.bench.results import Asked, SystemName, Trial
from benchmarks.bench.server import Server

FIRST = "first question"
_FILTERED = " filtered"
_EVEN = [f"*{digit}.txt" for digit in (0, 2, 4, 6, 8)]
"""Paths of half of the passages."""
_BEFORE = 3
"""Questions that are asked before any is timed, in each mode."""
_FIRST_CHUNKS = 5


def filtered(mode: str) -> str:
    """Return the name of a mode whose questions see half of the documents; only ours has a filter."""
    return mode + _FILTERED


def request(mode: str, count: int | None = None) -> dict[str, Any]:
    """Return the request for the first questions in a mode; for all of them unless a number is given."""
    asked = {"mode": mode.removesuffix(_FILTERED), "questions": [asdict(one) for one in questions()[:count]]}
    return asked | ({"paths": _EVEN} if mode.endswith(_FILTERED) else {})


def asked(system: SystemName, process: Command, trial: Trial, mode: str, server: Server) -> Asked:
    """Ask all questions in one mode, with the same keywords of both systems, and no answer."""
    process.ask(request(mode, _BEFORE))
    server.counts()
    answer = process.ask(request(mode))
    return Asked(
        system,
        trial.count,
        trial.round,
        mode,
        answer["milliseconds"],
        [len(files) for files in answer["files"]],
        list(_recall(answer["files"], documents_after(trial.count, trial.operations))),
        server.counts(),
        answer.get("clients"),
    )


def _recall(found: Sequence[Iterable[str]], documents: Collection[str]) -> Iterator[float]:
    """Yield the part of the supporting documents in the first five, of each question that has one in the index."""
    for question, files in zip(questions(), found, strict=True):
        if wanted := {f"{name}.txt" for name in question.supporting if name in documents}:
            yield len(wanted.intersection(islice(files, _FIRST_CHUNKS))) / len(wanted)
