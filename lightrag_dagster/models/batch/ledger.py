"""The batch ledger: the batches of a home, their ids at the provider, and the extractions that wait for them.

A batch is *prepared* (its request file is on disk, and it waits to be submitted), then *under way* (submitted), then
*ended* (the provider is done with it), then *collected* (its answers are stored).
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Set
from typing import Any, NamedTuple
from uuid import uuid4

import sqlalchemy as sa
from pydantic import BaseModel, Field

from lightrag_dagster import errors
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.spending.prices import UNKNOWN, Price
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import using_batches
from lightrag_dagster.storage.locks.base import STEP_SECONDS

PREPARED, UNDER_WAY, ENDED, COLLECTED = "prepared", "under way", "ended", "collected"
OPEN = (PREPARED, UNDER_WAY, ENDED)
MAX_ATTEMPTS = 3
"""Number of batches that may leave a request unanswered before its chunk fails."""

_METADATA = sa.MetaData()
BATCHES = sa.Table(
    "batches",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("prepared_at", sa.Double, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("reported_at", sa.Double, nullable=False, server_default="0"),
    sa.Column("waiting", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
"""Batches. `waiting` has the names of the sources that wait, as JSON."""

REQUESTS = sa.Table(
    "batch_requests",
    _METADATA,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Index("batch_requests_batch", "batch"),
    sqlite_with_rowid=False,
)
"""The response keys of the requests of open batches: their request files may be on another machine."""

_ANY = sa.true()
_KINDS = {
    kind.__name__: kind
    for kind in (errors.TransientProviderError, errors.PermanentProviderError, errors.OutputLimitError)
}


class WaitingExtraction(NamedTuple):
    """An extraction of a source, in a backfill or not, that waits for batches; and the run that pays for it.

    `purpose` is the table of a pass, if it is one that waits; the extraction itself does not wait for that. One that
    `retries` asks also about what failed for good; each later run of it does, until it has all its answers.
    """

    source: str
    backfill: bool
    run: str
    purpose: str = ""
    retries: bool = False

    def is_of(self, other: "WaitingExtraction") -> bool:
        """Say whether both are the same, on any account."""
        return self._replace(run=other.run, retries=other.retries) == other


class Batch(BaseModel):
    """One batch: `name` is ours, `batch_id` the provider's. `run` pays for it. Times are Unix seconds.

    `tokens` is about its input, `worst_usd` the most it can cost, `cost_usd` what its answers did cost, `price` that of
    its model when it was prepared. `submitted_at` is from before the last call that creates it. The provider last
    reported, at `reported_at`, `status`, `finished` (requests done), `answered` (those of them with an answer; None:
    unknown) and `problem` (an error code). `waiting`: the extractions that wait for it, of its source and of others
    with the same chunks. `unanswered`: the requests that it left without an answer, with kind and message of the error.
    """

    name: str = Field(default_factory=lambda: uuid4().hex)
    run: str
    source: str
    purpose: str = ""
    host: str
    model: str
    requests: int = 0
    tokens: int = 0
    worst_usd: float = 0.0
    price: Price = UNKNOWN
    prepared_at: float = Field(default_factory=time.time)
    state: str = PREPARED
    submitted_at: float | None = None
    batch_id: str | None = None
    status: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    finished: int = 0
    answered: int | None = None
    problem: str | None = None
    reported_at: float = 0.0
    ended_at: float | None = None
    cost_usd: float = 0.0
    waiting: list[WaitingExtraction] = []
    unanswered: dict[str, tuple[str, str]] = {}

    @property
    def sources(self) -> list[str]:
        """Return the sources that wait for it, by name."""
        return sorted({one.source for one in self.waiting})


class BatchLedger(Database):
    """The batches of one home; a commit survives a power cut. Every method raises StoreError."""

    def __init__(self, address: Address) -> None:
        super().__init__(address, [BATCHES, REQUESTS], synchronous="FULL")

    def batches(self, *states: str, where: sa.ColumnElement[bool] = _ANY) -> list[Batch]:
        """Return the batches in some states, oldest first, or in any when no state is given; those of a condition."""
        found = self._values(BATCHES.c.document, BATCHES.c.state.in_(states or (*OPEN, COLLECTED)) & where)
        return [Batch.model_validate_json(document) for document in found]

    def names(self, *states: str) -> list[str]:
        """Return the names of the batches in some states, oldest first."""
        return self._values(BATCHES.c.name, BATCHES.c.state.in_(states))

    def _values(self, column: sa.Column[str], where: sa.ColumnElement[bool]) -> list[str]:
        statement = sa.select(column).where(where).order_by(BATCHES.c.prepared_at, BATCHES.c.name)
        with self.begin() as connection:
            return list(connection.execute(statement).scalars())

    def to_poll(self, source: str, since: float) -> list[Batch]:
        """Return the batches under way that a source may wait for, or of which no report came since then."""
        return self.batches(UNDER_WAY, where=_waited_for(source) | (BATCHES.c.reported_at < since))

    def save(self, *batches: Batch) -> None:
        """Insert or replace batches, in one transaction; requests of collected ones are in no batch any more."""
        rows = [_row(batch) for batch in batches]
        if not rows:
            return
        statement = self.insert(BATCHES)
        changed = {name: statement.excluded[name] for name in rows[0]}
        collected = [{"one": batch.name} for batch in batches if batch.state == COLLECTED]
        with self.begin() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed), rows)
            if collected:
                connection.execute(sa.delete(REQUESTS).where(REQUESTS.c.batch == sa.bindparam("one")), collected)

    def replace(self, old: Batch, new: Batch) -> None:
        """Replace a batch, unless another process has changed it since it was read."""
        with self.begin() as connection:
            found = connection.execute(sa.select(BATCHES.c.document).where(BATCHES.c.name == old.name)).scalar()
        if found and Batch.model_validate_json(found) == old:  # also if it lacks a field that has its default
            unchanged = (BATCHES.c.name == old.name) & (BATCHES.c.document == found)
            with self.begin() as connection:
                connection.execute(sa.update(BATCHES).where(unchanged).values(_row(new)))

    def add(self, batch: Batch, keys: Iterable[str]) -> None:
        """Record a new batch with the response keys of its requests, in one transaction."""
        rows = [{"key": key, "batch": batch.name} for key in keys]
        with self.begin() as connection:
            connection.execute(sa.insert(BATCHES), _row(batch))
            connection.execute(self.insert(REQUESTS).on_conflict_do_nothing(), rows)

    def keys_of(self, batch: Batch) -> set[str]:
        """Return the response keys of the requests of an open batch."""
        with self.begin() as connection:
            return set(connection.execute(sa.select(REQUESTS.c.key).where(REQUESTS.c.batch == batch.name)).scalars())

    def batch_of(self, key: str) -> Batch | None:
        """Return the open batch that has the request with a response key; None if there is none."""
        holding = sa.select(REQUESTS.c.batch).where(REQUESTS.c.key == key)
        return next(iter(self.batches(*OPEN, where=BATCHES.c.name.in_(holding))), None)

    def wait(self, waiting: WaitingExtraction, names: Set[str]) -> None:
        """Record the open batches that an extraction waits for; none when it has all its answers.

        Collected batches that it waited for stay on record until then, since they count as attempts.
        """
        changed = []
        for batch in self.batches(where=_waited_for(waiting.source) | BATCHES.c.name.in_(names)):
            others = [other for other in batch.waiting if not other.is_of(waiting)]
            attempt = names and batch.state == COLLECTED and others != batch.waiting
            now = [*others, waiting] if attempt or batch.name in names else others
            if now != batch.waiting:
                unanswered = batch.unanswered if now else {}
                changed.append(batch.model_copy(update={"waiting": now, "unanswered": unanswered}))
        self.save(*changed)

    def forget_reasons(self) -> None:
        """Remove the providers' messages about requests without an answer, which may quote them."""
        self.save(*(batch.model_copy(update={"unanswered": {}}) for batch in self.batches(COLLECTED)))
        self.rewrite(BATCHES)

    def waiting(self, *states: str, source: str = "") -> list[WaitingExtraction]:
        """Return the extractions, perhaps of one source, that wait for batches in some states, as `due` orders them."""
        batches = self.batches(*states, where=_waited_for(source))
        found = {one for batch in batches for one in batch.waiting if source in ("", one.source)}
        return sorted(found, key=_order)

    def due(self, silent: float = 0.0) -> dict[WaitingExtraction, list[str]]:
        """Return the extractions that can continue, each with its batches and their states.

        None of its batches is submitted; and one has ended, or none is left to submit, or the provider has no other.
        Or no report came of one since `silent`: the run finds out why, and tells.
        They are in the order of their sources; that of a backfill is first.
        """
        batches = dict[WaitingExtraction, list[Batch]]()
        idle = not self.names(UNDER_WAY)
        for batch in self.batches(where=_waited_for()):
            for waiting in batch.waiting:
                batches.setdefault(waiting, []).append(batch)
        due = dict[WaitingExtraction, list[str]]()
        for waiting in sorted(batches, key=_order):
            states = {batch.state for batch in batches[waiting]}
            lost = any(batch.state == UNDER_WAY and batch.reported_at < silent for batch in batches[waiting])
            if lost or (UNDER_WAY not in states and (ENDED in states or PREPARED not in states or idle)):
                due[waiting] = [f"{batch.name} {batch.state}" for batch in batches[waiting]]
        return due

    def failures(self, waiting: WaitingExtraction) -> dict[str, errors.ProviderError]:
        """Return the failures of an extraction's requests that are not submitted again, by key."""
        collected = self.batches(COLLECTED, where=_waited_for(waiting.source))
        batches = [batch for batch in collected if any(map(waiting.is_of, batch.waiting))]
        attempts = Counter(key for batch in batches for key in batch.unanswered)
        last = {key: failure for batch in batches for key, failure in batch.unanswered.items()}
        return {
            key: _KINDS[kind](reason)
            for key, (kind, reason) in last.items()
            if kind != errors.TransientProviderError.__name__ or attempts[key] >= MAX_ATTEMPTS
        }


def _waited_for(source: str = "") -> sa.ColumnElement[bool]:
    """Return the condition of the batches for which something waits, of one source if given; others may fulfil it."""
    return BATCHES.c.waiting.contains(json.dumps(source), autoescape=True) if source else BATCHES.c.waiting != "[]"


def _row(batch: Batch) -> dict[str, Any]:
    waiting = json.dumps(batch.sources)
    columns = batch.model_dump(include={"name", "prepared_at", "state", "reported_at"})
    return columns | {"document": batch.model_dump_json(), "waiting": waiting}


def _order(waiting: WaitingExtraction) -> tuple[object, ...]:
    return waiting.source, not waiting.backfill, waiting.run, waiting.purpose


def sources_that_wait(settings: LLMSettings, home: Home, source: str = "") -> dict[str, set[bool]]:
    """Return the sources whose extraction waits for batches, each with True for that of a backfill, False for another.

    Only that `source` is looked at, if it is given. In real time none waits. Raises StoreError.
    """
    waiting = dict[str, set[bool]]()
    for one in _waiting(home, source=source) if settings.by_batch else []:
        waiting.setdefault(one.source, set()).add(one.backfill)
    return waiting


def awaits_retries(home: Home, source: str, purpose: str, *, backfill: bool) -> bool:
    """Say whether an extraction of a source waits for answers about what had failed for good; raises StoreError."""
    wanted = backfill, purpose, True
    return wanted in {(one.backfill, one.purpose, one.retries) for one in _waiting(home, source=source)}


def end_waits(home: Home, source: str, purposes: Set[str], *, backfill: bool) -> None:
    """Let extractions of a source wait for no batch any more, except those for some purposes; raises StoreError."""
    waiting = _waiting(home, source=source)
    if others := [one for one in waiting if one.backfill == backfill and one.purpose not in purposes]:
        with BatchLedger(home.batches) as ledger, using_batches(home, STEP_SECONDS):
            for one in others:
                ledger.wait(one, set())


def refuse_while_awaited(home: Home, source: str, purpose: str = "") -> None:
    """Check that real time does not pay again for requests that a batch is about to answer.

    Raises:
        SettingsError: an extraction of the source, or what reads it for that purpose, waits for an open batch.
    """
    if purpose in {waiting.purpose for waiting in _waiting(home, *OPEN, source=source)}:
        raise errors.SettingsError(
            f"source {source!r} waits for batches, and real time would pay for their answers again; set llm.mode to "
            "batch, or cancel them with `lightrag-dagster batch cancel --all`"
        )


def _waiting(home: Home, *states: str, source: str) -> list[WaitingExtraction]:
    if not home.may_have_batches:
        return []
    with BatchLedger(home.batches) as ledger:
        return ledger.waiting(*states, source=source)
