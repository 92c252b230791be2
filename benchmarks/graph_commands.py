"""The cost of each command that asks the graph or takes it along, in a process of its own.

    python -m benchmarks.graph_commands HOME [--times 3]

HOME is published, twice for `changes` to compare. Prints for each command the median of its seconds and of those of
the processor, the peak memory of its largest process, the bytes that it printed as JSON or wrote, and the load of the
machine. Questions are about entities at random, others each time; the first `communities` of a snapshot finds them,
later ones read them.
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from lightrag_dagster.core.export_formats import ExportFormat

_NAMES = "select name from entities where degree > 0 order by md5(entity_id) limit {}"


class Cost(NamedTuple):
    """Seconds, those of the processor, memory in MB, and bytes."""

    seconds: float
    processor: float
    memory: float
    bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--times", type=int, default=3, help="runs of each command")
    given = parser.parse_args()
    names = _names(given.home, 2 * given.times)
    pairs = list(zip(names[::2], names[1::2], strict=True))
    print(f"{'command':28}{'seconds':>10}{'processor':>11}{'memory':>10}{'bytes':>16}   load", flush=True)
    for arguments in (
        ["find", "{0}"],
        ["entity", "{0}"],
        ["neighbours", "{0}"],
        ["neighbours", "{0}", "--hops", "2"],
        ["path", "{0}", "{1}", "--by", "hops"],
        ["path", "{0}", "{1}", "--by", "weight"],
    ):
        show(arguments, [asked(given.home, [one.format(*pair) for one in arguments]) for pair in pairs])
    for command in ("communities", "communities"):
        show([command], [asked(given.home, [command])])
    for form in get_args(ExportFormat):
        show(["export", form], [written(given.home, ["export", form]) for _ in pairs])
    show(["report"], [written(given.home, ["report"]) for _ in pairs])
    show(["changes"], [asked(given.home, ["changes"])])


def show(arguments: Sequence[str], costs: Sequence[Cost]) -> None:
    """Print a row."""
    command = " ".join(arguments).format("A", "B")
    seconds, processor, _, size = (statistics.median(one) for one in zip(*costs, strict=True))
    memory, (load, _, _) = max(one.memory for one in costs), os.getloadavg()
    print(f"{command:28}{seconds:8.1f} s{processor:9.1f} s{memory:7,.0f} MB{size:16,.0f}   {load:.1f}", flush=True)


def asked(home: Path, arguments: Sequence[str]) -> Cost:
    """Return the cost of a question, and the bytes that it printed."""
    with tempfile.TemporaryFile() as printed:
        cost = _cost(home, [*arguments, "--json"], printed.fileno())
        return cost._replace(bytes=os.fstat(printed.fileno()).st_size)


def written(home: Path, arguments: Sequence[str]) -> Cost:
    """Return the cost of a file or folder, and its bytes."""
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        cost = _cost(home, [*arguments, f"{scratch}/written"], subprocess.DEVNULL)
        return cost._replace(bytes=sum(one.stat().st_size for one in Path(scratch).rglob("*") if one.is_file()))


def _cost(home: Path, arguments: Sequence[str], output: int) -> Cost:
    started = time.perf_counter()
    process = subprocess.Popen(_command(home, arguments), stdout=output)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return Cost(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, 0)


def _names(home: Path, number: int) -> list[str]:
    """Return names of entities with relations, the same ones for the same graph."""
    command = _command(home, ["sql", _NAMES.format(number), "--format", "csv"])
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [name for name, *_ in csv.reader(printed.splitlines()[1:])]


def _command(home: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "lightrag_dagster", "--home", str(home), *arguments]


if __name__ == "__main__":
    main()
