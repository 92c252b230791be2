"""The ledger of batches: what was submitted, under which id, and who waits for it. One SQLite file in the home.

A batch is *prepared* (its file is written; it may or may not have reached the provider), then *under way*, then *ended*
(the provider is done with it), then *collected* (its answers are stored). Requests are known by their response keys.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from lightrag_dagster.errors import (
    OutputLimitError,
    PermanentProviderError,
    ProviderError,
    SettingsError,
    TransientProviderError,
)
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.sqlite import Database, explained

PREPARED, UNDER_WAY, ENDED, COLLECTED = "prepared", "under way", "ended", "collected"
OPEN = (PREPARED, UNDER_WAY, ENDED)

_FAILURES = {kind.__name__: kind for kind in (TransientProviderError, PermanentProviderError, OutputLimitError)}
_DAY = 86_400.0


@dataclass(frozen=True)
class Batch:
    """One batch. `name` is ours, `batch_id` the provider's, `status` what the provider last said.

    `run` is on whose account it was submitted; `tokens` are its input, about; `worst_usd` is what it may cost at most,
    `cost_usd` what its answers did cost; `attempted` is whether the provider may have it though we know no `batch_id`;
    `finished` counts the requests that the provider is done with, and once collected those that it answered; `problem`
    is the provider's word for why it failed; `room` is, after it was refused for want of room in the provider's queue,
    how many tokens to try next. Times are Unix seconds.
    """

    name: str
    run: str
    source: str
    host: str
    model: str
    requests: int
    tokens: int
    worst_usd: float
    prepared_at: float
    state: str = PREPARED
    attempted: bool = False
    file_id: str | None = None
    batch_id: str | None = None
    status: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    finished: int = 0
    problem: str | None = None
    room: int | None = None
    ended_at: float | None = None
    cost_usd: float = 0.0


class Item(NamedTuple):
    """A request without an answer: the batch it is in, and the failure that settled it."""

    batch: str | None
    failure: ProviderError | None


class Verdict(NamedTuple):
    """What becomes of a request that its batch did not answer: `failure` settles it, else it is submitted again."""

    attempts: int
    failure: ProviderError | None = None


class BatchLedger(Database):
    """Safe from several processes; a commit survives a power cut. Every method raises StoreError."""

    def __init__(self, path: Path) -> None:
        schema = files(__package__).joinpath("ledger.sql").read_text(encoding="utf-8")
        super().__init__(path, schema, synchronous="FULL")

    def batches(self, *states: str) -> list[Batch]:
        """Return the batches in some states, the oldest first; in any, when none is given."""
        marks = ", ".join("?" * len(states))
        where = f"WHERE state IN ({marks})" if states else ""
        return [Batch(*row) for row in self._all(f"SELECT * FROM batches {where} ORDER BY prepared_at, name", states)]

    def add(self, batch: Batch, keys: Iterable[str]) -> None:
        """Record a prepared batch, the requests in it, and that its source waits for it in its run."""
        marks = ", ".join("?" * len(fields(Batch)))
        with explained(self._path), self._connection as connection:
            connection.execute(f"INSERT INTO batches VALUES ({marks})", astuple(batch))
            connection.executemany(
                "INSERT INTO items VALUES (?, ?, ?, 0, NULL, NULL)"
                " ON CONFLICT (key) DO UPDATE SET batch = excluded.batch",
                ((key, batch.source, batch.name) for key in keys),
            )
            connection.execute("INSERT INTO waiting VALUES (?, ?, ?)", (batch.source, batch.name, batch.run))

    def update(self, batch: Batch, **values: object) -> None:
        """Change columns of a batch, unless somebody else has moved it to another state meanwhile."""
        assignments = ", ".join(f"{name} = ?" for name in values)
        self._all(
            f"UPDATE batches SET {assignments} WHERE name = ? AND state = ?",
            (*values.values(), batch.name, batch.state),
        )

    def item(self, key: str) -> Item | None:
        """Return what is known of a request that has no answer."""
        rows = self._all("SELECT batch, kind, reason FROM items WHERE key = ?", (key,))
        if not rows:
            return None
        batch, kind, reason = rows[0]
        return Item(batch, _FAILURES[kind](reason) if kind else None)

    def items(self, batch: Batch) -> dict[str, int]:
        """Return the requests of a batch that have no answer, and how often each was tried before."""
        return dict(self._all("SELECT key, attempts FROM items WHERE batch = ?", (batch.name,)))

    def collected(self, batch: Batch, unanswered: Mapping[str, Verdict], **values: object) -> None:
        """Record that the answers of a batch are stored, and what becomes of the requests without one."""
        rows = []
        for key, (attempts, failure) in unanswered.items():
            kind, reason = (type(failure).__name__, str(failure)) if failure else (None, None)
            rows.append((attempts, kind, reason, key))
        values = {"state": COLLECTED, "ended_at": batch.ended_at or time.time()} | values
        assignments = ", ".join(f"{name} = ?" for name in values)
        with explained(self._path), self._connection as connection:
            connection.executemany(
                "UPDATE items SET batch = NULL, attempts = ?, kind = ?, reason = ? WHERE key = ?", rows
            )
            connection.execute("DELETE FROM items WHERE batch = ?", (batch.name,))
            connection.execute(f"UPDATE batches SET {assignments} WHERE name = ?", (*values.values(), batch.name))

    def wait(self, source: str, names: Iterable[str], run: str) -> None:
        """Record for which batches a source waits, and in which run; for no others."""
        with explained(self._path), self._connection as connection:
            connection.execute("DELETE FROM waiting WHERE source = ?", (source,))
            connection.executemany("INSERT INTO waiting VALUES (?, ?, ?)", ((source, name, run) for name in names))

    def give_up(self, batch: Batch) -> None:
        """Record that nobody waits for a batch any more; what it answers is still collected by the next run."""
        self._all("DELETE FROM waiting WHERE batch = ?", (batch.name,))

    def finish(self, source: str) -> None:
        """Record that a source waits for nothing; its failed requests may be tried afresh."""
        with explained(self._path), self._connection as connection:
            connection.execute("DELETE FROM waiting WHERE source = ?", (source,))
            connection.execute("DELETE FROM items WHERE source = ? AND batch IS NULL", (source,))

    def waiting(self) -> dict[str, str]:
        """Return the sources that wait for batches, and the run in which each does."""
        return dict(self._all("SELECT source, max(run) FROM waiting GROUP BY source ORDER BY source"))

    def awaits_answers(self, source: str) -> bool:
        """Say whether a source waits for a batch whose answers are not stored yet."""
        query = "SELECT 1 FROM waiting JOIN batches ON name = batch WHERE waiting.source = ? AND state <> ? LIMIT 1"
        return bool(self._all(query, (source, COLLECTED)))

    def due(self) -> dict[str, list[str]]:
        """Return the sources that can go on, and the batches that each waited for.

        One can when none of its batches is under way, and one of them has ended or nothing at all is under way.
        """
        rows = self._all("SELECT waiting.source, name, state FROM waiting JOIN batches ON name = batch ORDER BY 1, 2")
        idle = not self.batches(UNDER_WAY)
        sources: dict[str, dict[str, str]] = {}
        for source, name, state in rows:
            sources.setdefault(source, {})[name] = state
        return {
            source: list(states)
            for source, states in sources.items()
            if UNDER_WAY not in states.values() and (idle or not set(states.values()) <= {PREPARED})
        }

    def learnt_room(self, host: str, model: str) -> int | None:
        """Return how many tokens may be under way by what the provider refused within a day, or None.

        What it has accepted since is added, so that a queue which was full of others' batches is not avoided for long.
        """
        refusal = (
            "SELECT room, ended_at FROM batches WHERE host = ? AND model = ? AND room IS NOT NULL AND ended_at > ?"
            " ORDER BY ended_at DESC LIMIT 1"
        )
        rows = self._all(refusal, (host, model, time.time() - _DAY))
        if not rows:
            return None
        room, refused_at = rows[0]
        accepted = (
            "SELECT coalesce(sum(tokens), 0) FROM batches WHERE host = ? AND model = ? AND prepared_at >= ?"
            " AND status IN ('in_progress', 'finalizing', 'completed', 'expired')"
        )
        return int(room + self._all(accepted, (host, model, refused_at))[0][0])

    def _all(self, statement: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with explained(self._path), self._connection as connection:
            return connection.execute(statement, parameters).fetchall()


def sources_that_wait(settings: LLMSettings, home: Home) -> dict[str, str]:
    """Return the sources that wait for batches, and the run in which each does; raises StoreError.

    Nobody does where extraction is not asked for by batch.
    """
    if not (settings.by_batch and home.batches.exists()):
        return {}
    with BatchLedger(home.batches) as ledger:
        return ledger.waiting()


def refuse_while_awaited(home: Home, source: str) -> None:
    """Keep real time from buying what a batch under way is about to answer.

    Raises:
        SettingsError: the source waits for a batch.
    """
    if not home.batches.exists():
        return
    with BatchLedger(home.batches) as ledger:
        if ledger.awaits_answers(source):
            raise SettingsError(
                f"source {source!r} waits for batches, whose answers real time would buy again; set llm.mode to batch, "
                "or cancel them with `lightrag-dagster batch cancel --all`"
            )
