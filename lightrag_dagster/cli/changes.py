"""`changes`: what differs between two snapshots, row by row."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.indexes.changes import changes_between, compared
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home

_KINDS = {"document": "documents", "entity": "entities", "relation": "relations", "fact": "facts"}
_SIGNS = {"added": "+", "changed": "~", "removed": "-"}
_LONGEST = 200
"""Characters of a value that are printed."""


def show_changes(console: Console, before: str | None, after: str | None, *, limit: int, as_json: bool) -> None:
    """Print how many rows the published snapshot and the one before it differ in, or two others, and the first of them.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: there is no such snapshot, or none before.
        StoreError: a table is missing or damaged.
    """
    first, last = compared(Home.of(load_settings()), before, after)
    changes = changes_between(first, last)
    if as_json:
        rows = [row | {end: _values(row[end]) for end in ("before", "after")} for row in changes.to_pylist()]
        print_json({"before": first.id, "after": last.id, "changes": rows})
        return
    console.print(f"{first.id} → {last.id}")
    found = Counter(zip(changes["kind"].to_pylist(), changes["change"].to_pylist(), strict=True))
    for kind, plural in _KINDS.items():
        console.print(f"{plural}: {', '.join(f'{found[kind, change]:,} {change}' for change in _SIGNS)}")
    for row in changes.slice(0, limit).to_pylist():
        console.print(f"{_SIGNS[row['change']]} {row['kind']} {row['name']}")
        for line in _lines(row):
            console.print(f"    {line}")
    if changes.num_rows > limit:
        console.print(f"{changes.num_rows - limit:,} more; --limit prints more, --json all of them.")


def _lines(row: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each column that changed."""
    before, after = (_values(row[end]) for end in ("before", "after"))
    for column in row["columns"]:
        if column in before:
            yield f"{column}: {_text(before[column])} → {_text(after[column])}"
        else:
            yield f"{column}: others"


def _values(document: str | None) -> dict[str, Any]:
    return json.loads(document) if document else {}


def _text(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
