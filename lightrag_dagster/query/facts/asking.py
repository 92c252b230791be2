"""Lists and counts of facts by conditions, in SQL that never changes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes.facts import FactIndex
from lightrag_dagster.query.arguments import shown
from lightrag_dagster.query.fact_reading import read_facts
from lightrag_dagster.query.facts.conditions import By, Conditions
from lightrag_dagster.query.facts.types import FactCount, FactCounts, FactList
from lightrag_dagster.query.graph.finding import resolve
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.settings.unknown import nearest
from lightrag_dagster.storage.duckdb import in_memory

_EVIDENCE = 5
"""Facts that a number names."""

_COLUMNS = {"subject": "subject_id", "object": "object_id", "relation": "relation", "type": "subject_type"}

_NO_FACTS = "the snapshot has no facts: no pass has read any, see docs/facts.md"


class Selection(NamedTuple):
    """Facts that hold on the day that was asked for, values of the statement, and notes."""

    facts: FactIndex
    rows: pa.Table
    values: dict[str, Any]
    notes: tuple[str, ...]


def list_facts(seen: Snapshot, conditions: Conditions, limit: int) -> FactList:
    """Return the facts that meet the conditions, newest first.

    Raises:
        QueryError: no entity, relation or type has the name, or several entities may be meant.
        StoreError: a table of the snapshot is missing or damaged.
    """
    asked = _asked(seen, conditions)
    if asked is None:
        return FactList((), 0, (*seen.notes, _NO_FACTS))
    with _found(asked) as connection:
        (total,) = connection.execute("SELECT count(*) FROM found").fetchall()[0]
        ordered = "SELECT fact_id FROM found ORDER BY day DESC NULLS LAST, fact_id LIMIT $most"
        ids = [one for (one,) in connection.execute(ordered, {"most": limit}).fetchall()]
    facts = tuple(read_facts(seen, asked.facts, asked.facts.table.rows_of(ids)))
    return FactList(facts, total - len(facts), asked.notes)


def count_facts(seen: Snapshot, conditions: Conditions, by: By | None, limit: int) -> FactCounts:
    """Return the numbers of facts that meet the conditions, each with evidence; raises as `list_facts`."""
    asked = _asked(seen, conditions, by)
    if asked is None:
        return FactCounts(by, 0, (), 0, (*seen.notes, _NO_FACTS))
    with _found(asked) as connection:
        values = {"by": by, "evidence": _EVIDENCE, "most": limit}
        rows = connection.sql(read_sql(__package__, "count_found"), params=values).to_arrow_table().to_pylist()
    ids = sorted({one for row in rows for one in row["fact_ids"]})
    known = {one.fact_id: one for one in read_facts(seen, asked.facts, asked.facts.table.rows_of(ids))}
    counts = []
    for row in rows:
        first = [known[one] for one in row["fact_ids"]]
        named = {"subject": first[0].subject, "object": first[0].object}
        counts.append(
            FactCount(
                key=named.get(by, row["key"]) if by else None,
                entity_id=row["key"] if by in named else None,
                count=row["count"],
                fact_ids=tuple(row["fact_ids"]),
                citations=tuple(one.citations[0] for one in first),
                left_out=row["count"] - len(first),
            )
        )
    if by in ("subject", "object"):  # counted by their ids
        counts.sort(key=lambda one: (-one.count, one.key or ""))
    total, keys = (rows[0]["total"], rows[0]["keys"]) if rows else (0, 0)
    return FactCounts(by, total, tuple(counts), keys - len(counts), asked.notes)


def _asked(seen: Snapshot, conditions: Conditions, by: By | None = None) -> Selection | None:
    """Settle the conditions; None if there are no facts."""
    if (facts := seen.facts) is None:
        return None
    notes = list(seen.notes)
    values = dict.fromkeys(("subject", "object", "relation", "type"))
    for end, name in conditions.names.items():
        row, more = resolve(seen, name, end)
        (values[end],) = seen.graph.entities.ids_at(np.array([row], dtype=np.int32))
        notes += more
    rows = facts.table.rows
    for name, word in conditions.words.items():
        values[name] = _known(rows[name if name == "relation" else "subject_type"], word, name)
    if conditions.as_of is not None:
        rows = rows.append_column("holds", pa.array(facts.holding(conditions.as_of)))
    if conditions.contradicted:
        rows = rows.filter(pc.greater(pc.list_value_length(rows["contradicts"]), 0))
    rows = rows.drop_columns(["evidence", "contradicts"])
    if conditions.as_of is not None:
        notes += _undated(rows, values)
        rows = rows.filter(rows["holds"])
    values |= conditions.value._asdict() | {"by": by}
    return Selection(facts, rows, values, tuple(notes))


def _undated(rows: pa.Table, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note on facts of the same names whose time cannot be read."""
    found = _having(rows, {_COLUMNS[end]: values[end] for end in _COLUMNS})
    is_open = pc.and_(pc.is_valid(found["when_words"]), pc.is_null(pc.coalesce(found["valid_from"], found["valid_to"])))
    if undated := pc.sum(is_open).as_py():
        number = counted(undated, "fact of these names has", "facts of these names have")
        yield (
            f"{number} a time that cannot be read: such a fact counts on every day, or on none where another of a "
            "`single` relation is dated; leave the day out to see them"
        )


def _having(rows: pa.Table, asked: Mapping[str, str | list[str] | None]) -> pa.Table:
    for column, value in asked.items():
        if value is not None:
            wanted = pa.array(value if isinstance(value, list) else [value], rows[column].type)
            rows = rows.filter(pc.is_in(rows[column], value_set=wanted))
    return rows


def _known(column: pa.ChunkedArray, asked: str, name: str) -> list[str]:
    """Return the spellings of the relation or type that a text means, in any case, with spaces or underscores."""
    spellings = pc.unique(column).drop_null().to_pylist()
    known = {folded(one): one for one in spellings}
    wanted = folded(asked)
    if not known:  # of which the notes on the filters tell
        return []
    if wanted not in known:
        near = nearest(wanted, known)
        hint = f"did you mean {known[near]!r}?" if near else f"there are {', '.join(sorted(known.values())[:10])}"
        raise QueryError(f"no fact has the {name} {shown(asked)}; {hint}")
    return [one for one in spellings if folded(one) == wanted]


@contextmanager
def _found(asked: Selection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with the table of facts that meet the conditions."""
    with in_memory() as connection:
        connection.register("fact", asked.rows)
        connection.execute(read_sql(__package__, "found_facts"), asked.values)
        yield connection
