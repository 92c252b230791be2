"""The rows that changed since the snapshot before."""

from typing import Any

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.changes import changes_between, count_changes
from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.fitting import Fitting
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import previous_snapshot


def changes_of(generation: Generation, bounds: PageBounds) -> dict[str, Any]:
    """Return the rows that differ from the snapshot before, the first of each kind, or a note that there is none."""
    before = previous_snapshot(generation.home, generation.id)
    if before is None:
        return {"note": "There is no earlier snapshot to compare with."}
    snapshots = Generation(generation.home, before.snapshot_id), generation
    try:
        table = changes_between(*snapshots, bounds.changes).select(["kind", "id", "name", "change", "columns"])
        differing = count_changes(*snapshots)
    except StoreError as error:
        return {"note": f"The snapshot before could not be compared: {error}"}
    counts = {kind: one.model_dump(exclude={"before"}) for kind, one in differing.items()}
    fit = Fitting(bounds.bytes)
    rows = [{**row, "name": fit.short(row["name"], bounds.path, "names of changes")} for row in table.to_pylist()]
    notes = fit.notes()
    number = sum(sum(numbers.values()) for numbers in counts.values())
    if number > len(rows):
        notes.append(f"changes, of which the first of each kind are listed: {number - len(rows):,} more")
    return {"before": before.snapshot_id, "counts": counts, "rows": rows, "left_out": notes}
