"""Questions to a process that answers lines of JSON."""

from dataclasses import asdict

from benchmarks.bench.corpus import questions
from benchmarks.bench.measuring import Command
from benchmarks.bench.results import Asked, SystemName, Trial
from benchmarks.bench.server import Server

_BEFORE = 3
"""Questions that are asked before any is timed, in each mode."""


def asked(system: SystemName, process: Command, trial: Trial, mode: str, server: Server) -> Asked:
    """Ask all questions in one mode, with the same keywords of both systems, and no answer."""
    all_of_them = [asdict(one) for one in questions()]
    process.ask({"mode": mode, "questions": all_of_them[:_BEFORE]})
    server.counts()
    answer = process.ask({"mode": mode, "questions": all_of_them})
    return Asked(
        system,
        trial.count,
        trial.round,
        mode,
        answer["milliseconds"],
        answer["chunks"],
        server.counts(),
        answer.get("clients"),
    )
