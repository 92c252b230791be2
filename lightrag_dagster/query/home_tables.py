"""Tables of a home itself, made for SQL that reads them."""

import re
from collections.abc import Container
from datetime import datetime

import pyarrow as pa

from lightrag_dagster.spending.entries import COSTS, ENTRIES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, published_snapshot
from lightrag_dagster.view_schemas import SNAPSHOTS


def words_of(statements: str) -> set[str]:
    """Return the words of statements, in lower case: they have the names of all tables that are read."""
    return set(re.findall(r"\w+", statements.lower()))


def tables_of_home(home: Home, asked: Container[str]) -> dict[str, pa.Table]:
    """Return those of `snapshots`, `costs` and `ledger` that are asked for; raises StoreError.

    In a scope no costs are told: an answer is stored where others, who see more, have asked for it.
    """
    found = {"snapshots": _snapshots(home)} if "snapshots" in asked else {}
    if home.scope:
        found |= {"costs": COSTS.empty_table(), "ledger": ENTRIES.empty_table()}
    elif "costs" in asked or "ledger" in asked:
        from lightrag_dagster.spending.ledger import Ledger  # which imports SQLAlchemy

        ledger = Ledger(home.ledger)
        if "costs" in asked:
            found["costs"] = pa.Table.from_pylist(ledger.costs(["month", "source", "purpose", "model"]), COSTS)
        if "ledger" in asked:
            found["ledger"] = ledger.entries()
    return found


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
