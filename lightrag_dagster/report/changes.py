"""The rows that changed since the snapshot before."""

from collections import defaultdict
from typing import Any

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.changes import changes_between
from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.fitting import Fitting
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import previous_snapshot


def changes_of(generation: Generation, bounds: PageBounds) -> dict[str, Any]:
    """Return the rows that differ from the snapshot before, the first of each kind, or a note that there is none."""
    before = previous_snapshot(generation.home, generation.id)
    if before is None:
        return {"note": "There is no earlier snapshot to compare with."}
    try:
        table = changes_between(Generation(generation.home, before.snapshot_id), generation)
    except StoreError as error:
        return {"note": f"The snapshot before could not be compared: {error}"}
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    fit, rows = Fitting(bounds.bytes), []
    for row in table.select(["kind", "id", "name", "change", "columns"]).to_pylist():
        of_kind = counts[row["kind"]]
        if sum(of_kind.values()) < bounds.changes:
            rows.append({**row, "name": fit.short(row["name"], bounds.path, "names of changes")})
        of_kind[row["change"]] += 1
    notes = fit.notes()
    if table.num_rows > len(rows):
        notes.append(f"changes, of which the first of each kind are listed: {table.num_rows - len(rows):,} more")
    return {"before": before.snapshot_id, "counts": counts, "rows": rows, "left_out": notes}
