"""The facts of a snapshot as sorted arrays beside those of its graph, where a pass was merged; readers map them.

facts.arrow, facts_ids.npy        the rows of fact_rows.sql, and their ids for binary search
entity_facts_*.npy                the facts of each entity, at either end, newest first
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.indexes.adjacency import MappedTable, map_keyed, write_keyed
from lightrag_dagster.indexes.arrays import Lists, Rows, lists_of, map_array, map_lists, write_lists

if TYPE_CHECKING:
    import duckdb

_LAST = np.iinfo(np.int32).max
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class FactIndex:
    """The facts of a snapshot, or those that a filter allows, by id, and the rows of those of each entity."""

    table: MappedTable
    of_entity: Lists

    def holding(self, day: date) -> npt.NDArray[np.bool_]:
        """Return a mask of the facts that hold on a day."""
        number = (day - _EPOCH).days
        counts: npt.NDArray[np.bool_] = self._counts & (self._first <= number) & (self._last >= number)
        return counts

    @cached_property
    def days(self) -> npt.NDArray[np.int32]:
        """The first day of each fact, else its last, in days from 1970; the least number without either."""
        rows = self.table.rows
        return _days(pc.coalesce(rows["valid_from"], rows["valid_to"]), -_LAST)

    @cached_property
    def _counts(self) -> npt.NDArray[np.bool_]:
        return self.table.values("counts")

    @cached_property
    def _first(self) -> npt.NDArray[np.int32]:
        return _days(self.table.rows["holds_from"], -_LAST)

    @cached_property
    def _last(self) -> npt.NDArray[np.int32]:
        return _days(self.table.rows["holds_to"], _LAST)


def facts_of(rows: pa.Table, entity_ids: npt.NDArray[np.bytes_]) -> FactIndex:
    """Return facts by id, whose entities are known by sorted ids."""
    facts = FactIndex(MappedTable(rows, np.array(rows["fact_id"].to_pylist(), dtype=np.bytes_)), _NONE)
    known = MappedTable(rows, entity_ids)
    numbers = np.arange(len(rows), dtype=np.int32)
    has_object = np.asarray(rows["object_id"].is_valid())
    ends = (rows["subject_id"].to_pylist(), rows["object_id"].drop_null().to_pylist())
    owners = np.concatenate([known.rows_of(one) for one in ends])
    of_owners = np.concatenate([numbers, numbers[has_object]])
    order = np.lexsort((of_owners, -facts.days[of_owners].astype(np.int64), owners))
    return FactIndex(facts.table, lists_of(owners[order], of_owners[order], len(entity_ids)))


def fact_rows(connection: "duckdb.DuckDBPyConnection") -> pa.Table:
    """Return the rows of fact_rows.sql of a database that has merged_facts and fact_evidence."""
    for name in ("fact_spans", "contradictions"):
        connection.execute(read_sql(__package__, name).replace("CREATE VIEW", "CREATE OR REPLACE TEMP VIEW"))
    return connection.sql(read_sql(__package__, "fact_rows")).to_arrow_table()


def write_facts(folder: Path, files: Sequence[Sequence[Path]]) -> None:
    """Write the facts of the files of MERGED_PASS_TABLES into the folder of the arrays of a graph.

    Raises OSError and errors of DuckDB.
    """
    from lightrag_dagster.storage.duckdb import spilling, view_files

    with spilling(folder.parent) as connection:
        for (table, schema), paths in zip(MERGED_PASS_TABLES.items(), files, strict=True):
            view_files(connection, table, paths, schema)
        rows = fact_rows(connection)
    write_keyed(folder, "facts", rows)
    lists = facts_of(rows, map_array(folder, "entities_ids")).of_entity
    write_lists(folder, "entity_facts", lists.lengths, lists.values)


def open_facts(folder: Path) -> FactIndex:
    """Map the facts of a folder of arrays; raises StoreError if a file is missing or damaged."""
    try:
        return FactIndex(map_keyed(folder, "facts"), map_lists(folder, "entity_facts"))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StoreError(f"facts in {folder} cannot be read ({error}); run `lightrag-dagster run --verify`") from error


_NONE = Lists(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))


def _days(dates: pa.ChunkedArray, empty: int) -> npt.NDArray[Any]:
    days: Rows = dates.cast(pa.int32()).fill_null(empty).to_numpy()
    return days
