"""A run that is killed on purpose: `python -m tests.end_to_end.victim HOME SOURCES STEP MOMENT WAY`.

WAY is `run`, through Dagster, `build`, without it, or `take_over`, which is how both begin in a home of another layout.

What leaves a mark on disk is counted, except for the scratch files that DuckDB writes. At number STEP, or at the first
write with this label, the process kills itself with SIGKILL: `before` it, `during` it (a millisecond after it began,
when most of them are over: those of `LONG` are not) or `after` it. STEP 0 never comes; then the run ends well and
prints the label of each write, so that a test knows what there is to interrupt.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import lancedb.table
import pyarrow.parquet as pq

from lightrag_dagster.indexes.cypher import graph
from lightrag_dagster.pipeline import graph as pipeline_graph
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.keyed_store import KeyedTable
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables import shards
from lightrag_dagster.storage.take_over import take_over
from tests.support import build, run

SECONDS_INTO_A_WRITE = 0.001

WRITES: dict[str, tuple[Any, str]] = {
    "replace": (os, "replace"),
    "rename": (os, "rename"),
    "fsync": (os, "fsync"),
    "unlink": (os, "unlink"),
    "rows": (pq.ParquetWriter, "write_table"),  # after it, half of a file is there: without its end
    "store": (KeyedTable, "_write"),
    "ledger": (Ledger, "add"),
    "vectors-": (lancedb.table.LanceTable, "delete"),
    "vectors+": (lancedb.table.LanceTable, "add"),
    "tag": (lancedb.table.Tags, "create"),
    "graph": (graph, "_run"),
}
LONG = ("vectors-", "vectors+", "graph")


class Executioner:
    """Counts writes, and kills this process at one of them."""

    def __init__(self, step: str, moment: str) -> None:
        self.step = step
        self.moment = moment
        self.seen: list[str] = []
        self._numbers = count(1)  # threads write side by side, and each number is given once

    def watch(self, kind: str, owner: Any, name: str) -> None:
        """Count the calls of `owner.name`; the label of one is its kind, with the name of the file it ends with."""
        original: Callable[..., Any] = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            label = f"{kind}:{arguments[-1].name}" if isinstance(arguments[-1], Path) else kind
            self.seen.append(label)
            due = self.step in (label, str(next(self._numbers)))
            if due and self.moment == "before":
                kill()
            if due and self.moment == "during":
                threading.Thread(target=_kill_soon, daemon=True).start()
            try:
                return original(*arguments, **named)
            finally:  # to remove what is not there is an error that nobody sees
                if due:
                    kill()

        setattr(owner, name, watched)


def kill() -> None:
    """Die as by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_soon() -> None:
    time.sleep(SECONDS_INTO_A_WRITE)
    kill()


def main(home: str, sources: str, step: str, moment: str, way: str) -> None:
    """Run once, or part of the way."""
    executioner = Executioner(step, moment)
    for kind, (owner, name) in WRITES.items():
        executioner.watch(kind, owner, name)
    pipeline_graph.ROWS_BEFORE_PUBLICATION = int(
        os.environ.get("ROWS_BEFORE_PUBLICATION", pipeline_graph.ROWS_BEFORE_PUBLICATION)
    )
    shards.ROWS = int(os.environ.get("ROWS_A_SHARD", shards.ROWS))
    settings = load_settings(home=Path(home), sources=Path(sources))
    if way == "take_over":
        take_over(Home.of(settings), 0)
    elif way == "build":
        build(settings, graph=True)
    else:
        run(settings)
    print("\n".join(executioner.seen))  # noqa: T201  # the test reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
