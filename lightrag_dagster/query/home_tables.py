"""Tables of a home itself, made for SQL that reads them."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial

import pyarrow as pa

from lightrag_dagster.errors import LightRAGError, QueryError
from lightrag_dagster.spending.entries import COSTS, ENTRIES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, published_snapshot
from lightrag_dagster.view_schemas import SNAPSHOTS

_Makers = Mapping[str, Callable[[Home], pa.Table]]


def tables_of_home(
    home: Home, statements: str, more: _Makers | None = None
) -> tuple[dict[str, pa.Table], dict[str, LightRAGError]]:
    """Return those of `snapshots`, `costs`, `ledger` and `more` whose names statements hold, and why others lack.

    In a scope no costs are told: an answer is stored where others, who see more, have asked for it.
    """
    words = set(re.findall(r"\w+", statements.lower()))
    found = dict[str, pa.Table]()
    lacking = {}
    for name, make in {**_MADE, **(more or {})}.items():
        try:
            if name in words:
                found[name] = make(home)
        except LightRAGError as error:
            lacking[name] = error
    return found, lacking


@contextmanager
def told(lacking: Mapping[str, LightRAGError]) -> Iterator[None]:
    """Raise why a table cannot be made where SQL in the block reads it: its name may be that of a column too."""
    try:
        yield
    except QueryError as error:
        unknown = re.search(r"Table with name (\w+) does not exist", str(error))
        raise lacking.get(unknown[1].lower(), error) if unknown else error from None


def _snapshots(home: Home) -> pa.Table:
    """Return SNAPSHOTS, the oldest first; of a scope, the published one alone."""
    refresh(home)
    published = published_snapshot(home)
    rows = [
        {
            "snapshot_id": one.snapshot_id,
            "sequence": one.sequence,
            "published_at": datetime.fromisoformat(one.published_at),
            "is_published": published is not None and one.snapshot_id == published.snapshot_id,
            "documents": one.rows["raw_documents"],
            **{name: one.rows[name] for name in ("chunks", "entities", "relations")},
            "facts": one.rows.get("merged_facts", 0),
        }
        for one in list_snapshots(home)
        if not home.scope or one == published
    ]
    return pa.Table.from_pylist(rows, SNAPSHOTS)


def _spent(home: Home, table: str) -> pa.Table:
    if home.scope:
        return (COSTS if table == "costs" else ENTRIES).empty_table()
    from lightrag_dagster.spending.ledger import Ledger  # which imports SQLAlchemy

    ledger = Ledger(home.ledger)
    if table == "ledger":
        return ledger.entries()
    return pa.Table.from_pylist(ledger.costs(["month", "source", "purpose", "model"]), COSTS)


_MADE: _Makers = {"snapshots": _snapshots} | {name: partial(_spent, table=name) for name in ("costs", "ledger")}
