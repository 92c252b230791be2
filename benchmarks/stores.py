"""Durable puts and gets a second of the stores, and budgets under shared limits.

    python -m benchmarks.stores [postgresql://…]

Without a URL, SQLite files in a temporary folder of the working folder are measured.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import numpy as np
from pydantic import SecretStr

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.budget import Budget
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home

Item = TypeVar("Item")

ROWS = 5000
VECTORS_IN_A_BATCH = 64
ANSWER = ChatResponse("x" * 2000, "stop", 1200, 400, 0, 0.001)
VECTOR = np.ones(1536, dtype=np.float32)


def rate(what: str, rows: int, work: Callable[[], object]) -> None:
    """Print how many rows a second some work takes."""
    started, cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(f"{what:24} {rows / seconds:>9,.0f} a second {1e6 * cpu / rows:>6,.0f} µs of CPU each")


def put_each(put: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Put one item after another."""
    for item in items:
        put(item)


async def calls(account: Account, home: Home) -> None:
    """Set money aside for calls one after another."""
    ledger = Ledger(home.ledger)
    budget = Budget((ledger, account) if account.limits else None)
    for _ in range(ROWS):
        with budget.reservation(0.01) as reservation:
            await reservation.renew()
            reservation.cost = 0.001


def main(home: Home) -> None:
    """Measure the stores of a home."""
    keys = [uuid4().hex * 2 for _ in range(ROWS)]
    with ResponseStore(home.responses) as store:
        rate("answers, one a put", ROWS, lambda: put_each(store.put_many, [{key: ANSWER} for key in keys]))
        rate("answers, one a get", ROWS, lambda: [store.get_many([key]) for key in keys])
        rate("answers, all in a put", ROWS, lambda: store.put_many({f"{key}-": ANSWER for key in keys}))
        rate("answers, all in a get", ROWS, lambda: store.get_many(keys))
    with VectorStore(home.vectors) as vectors:
        batches = [keys[start : start + VECTORS_IN_A_BATCH] for start in range(0, ROWS, VECTORS_IN_A_BATCH)]
        rows = [dict.fromkeys(some, VECTOR) for some in batches]
        rate("vectors, 64 a put", ROWS, lambda: put_each(vectors.put_many, rows))
    for number, (run, day, source) in enumerate([(None,) * 3, (1e9, None, None), (1e9, 1e9, None), (1e9,) * 3]):
        account = Account(uuid4().hex, "source", run, day, source)
        rate(f"calls under {number} limits", ROWS, partial(asyncio.run, calls(account, home)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        main(Home(Path(folder), SecretStr(sys.argv[1]) if sys.argv[1:] else None))
