"""The facts about the entities of a retrieval, and those of them that fit."""

from datetime import date

import numpy as np

from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.indexes.facts import FactIndex

FACT_TOKENS = 1_000
"""Most tokens of facts in the context, with the documents that they cite, out of those of relations."""


def facts_about(facts: FactIndex, entities: Rows, day: date | None) -> Rows:
    """Return the facts about some entities, best first, those that hold on a day before the others.

    First comes the newest fact of the first entity; then its second, and the newest of the second entity; and so on.
    """
    owners, rows = facts.of_entity.of_each(entities)
    others = np.zeros(len(rows), dtype=bool) if day is None else ~facts.holding(day)[rows]
    by_owner = np.lexsort((others, owners))
    owners, rows, others = owners[by_owner], rows[by_owner], others[by_owner]
    turns = owners + np.arange(len(rows)) - np.searchsorted(owners, owners)
    rows = rows[np.lexsort((owners, turns, others))]
    best: Rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
    return best


def in_order(facts: FactIndex, rows: Rows, day: date | None) -> Rows:
    """Return the places of rows as they are shown: those that hold on a day before the others, the newest first."""
    others = np.zeros(len(rows), dtype=bool) if day is None else ~facts.holding(day)[rows]
    return np.lexsort((-facts.days[rows].astype(np.int64), others)).astype(np.int32)
