"""The facts of a snapshot: their numbers, and those that contradict each other."""

from typing import Any

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.indexes.views import add_derived, open_tables
from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.fitting import Fitting
from lightrag_dagster.storage.snapshots.generations import Generation

_COUNTS = "SELECT relation, count(*) FROM merged_facts GROUP BY relation ORDER BY count(*) DESC, relation"
_TEXTS = ("subject", "relation", "says", "place", "other", "other_place")


def facts_of(generation: Generation, bounds: PageBounds) -> dict[str, Any] | None:
    """Return the number of facts by relation, and pairs that contradict each other; None without a pass.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    if not generation.merges_passes():
        return None
    with open_tables(generation, ["merged_facts", "fact_evidence"]) as connection:
        add_derived(connection, ["fact_spans", "contradictions"], temporary=True)
        counts = connection.execute(_COUNTS).fetchall()
        pairs = connection.execute(read_sql(__package__, "contradicting"), {"most": bounds.facts}).fetchall()
    fit = Fitting(bounds.bytes)
    total = pairs[0][-1] if pairs else 0
    rows = [[fit.short(one, bounds.path, "texts of facts") for one in row[: len(_TEXTS)]] for row in pairs]
    left_out = [f"relations of facts: {len(counts) - bounds.facts:,} more"] if len(counts) > bounds.facts else []
    left_out += [f"contradictions: {total - len(pairs):,} more"] if total > len(pairs) else []
    return {
        "counts": [[fit.short(name, bounds.name, "relations of facts"), n] for name, n in counts[: bounds.facts]],
        "contradictions": [
            dict(zip(_TEXTS, row, strict=True)) | {"from": first and str(first)}
            for row, (*_, first, _) in zip(rows, pairs, strict=True)
        ],
        "total": total,
        "left_out": [*left_out, *fit.notes()],
    }
