"""Calls, tokens and cost of every step of every run: one SQLite file in the home.

Budgets read from it what a run has spent so far, and plans how earlier calls went.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from lightrag_dagster.storage.sqlite import BUSY_SECONDS, explained


@dataclass(frozen=True)
class Entry:
    """One step's calls for one purpose: extract, summarise, keywords, answer or embed. `source` may be empty."""

    run: str
    purpose: str
    source: str
    model: str
    calls: int
    stored: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float


_COLUMNS = [field.name for field in fields(Entry)]


class Ledger:
    """Entries in the order in which they were added; safe from several processes. Every method raises StoreError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, entry: Entry, receipt: str | None = None) -> None:
        """Append an entry, unless it counts no call or the same receipt was entered before."""
        if not (entry.calls or entry.stored):
            return
        marks = ", ".join("?" * len(_COLUMNS))
        with self._connected() as connection:
            if receipt is not None:
                kept = connection.execute("INSERT OR IGNORE INTO receipts VALUES (?)", (receipt,))
                if not kept.rowcount:
                    return
            connection.execute(f"INSERT INTO ledger ({', '.join(_COLUMNS)}) VALUES ({marks})", astuple(entry))

    def spent(self, run: str) -> float:
        """Return what a run has cost so far. US dollars."""
        rows = self._query("SELECT total(cost_usd) FROM ledger WHERE run = ?", (run,))
        return float(rows[0][0]) if rows else 0.0

    def by_purpose(self) -> dict[str, Entry]:
        """Return the totals of each purpose, over all runs and sources."""
        sums = ", ".join(f"sum({name})" for name in _COLUMNS[4:])
        rows = self._query(f"SELECT purpose, max(model), {sums} FROM ledger GROUP BY purpose", ())
        return {purpose: Entry("", purpose, "", model, *totals) for purpose, model, *totals in rows}

    def last_run(self) -> str | None:
        """Return the run of the newest entry."""
        rows = self._query("SELECT run FROM ledger ORDER BY number DESC LIMIT 1", ())
        return str(rows[0][0]) if rows else None

    def _query(self, statement: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        with self._connected() as connection:
            return connection.execute(statement, parameters).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction."""
        schema = files(__package__).joinpath("ledger.sql").read_text(encoding="utf-8")
        with explained(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS)) as connection, connection:
                connection.executescript(schema)
                yield connection
