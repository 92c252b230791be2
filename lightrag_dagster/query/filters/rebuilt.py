"""A table under a filter: its rows are merged again from allowed evidence, unless they would be as in the whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.indexes.adjacency import MappedTable
from lightrag_dagster.indexes.arrays import Rows

Mask = npt.NDArray[np.bool_]

_KEPT_ROWS = 20_000
"""Maximum number of merged rows that are kept; at most half of them were made before a question needed them."""

_AHEAD_ROWS = 1000
"""Number of rows that the first merge makes besides those that are needed."""


class _Kept:
    """The rows merged so far, in one chunk, and the place of each row of the table among them, or -1."""

    def __init__(self, number: int) -> None:
        self.places: Rows = np.full(number, -1, dtype=np.int32)
        self.rows: pa.Table | None = None
        self.making = Lock()

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def add(self, rows: Rows, merged: pa.Table) -> None:
        """Keep merged rows."""
        self.places[rows] = np.arange(len(self), len(self) + len(rows))
        self.rows = pa.concat_tables([merged] if self.rows is None else [self.rows, merged]).combine_chunks()

    def clear(self) -> None:
        """Forget all rows."""
        self.places[:] = -1
        self.rows = None


@dataclass(frozen=True)
class Rebuilt(MappedTable):
    """Entities or relations under a filter; threads may share them."""

    described: Mask
    """Rows whose description was made from allowed chunks alone."""
    same: Mask
    """Rows that are as in the whole, except for `numbers`."""
    likely: Rows
    """All other rows that may be seen, those of most relations first."""
    rebuild: Callable[[list[str]], pa.Table]
    """Return the rows of some ids, merged again, in any order."""
    numbers: Mapping[str, npt.NDArray[Any]]
    """Columns that follow from all allowed rows."""
    _kept: _Kept = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kept", _Kept(len(self.ids)))

    def values(self, column: str) -> npt.NDArray[Any]:
        """Return the numbers of a column, in order of rows."""
        return self.numbers[column]

    def table_of(self, rows: Rows) -> pa.Table:
        """Return whole rows, in the order given, as a table."""
        same = self.same[rows]
        whole, merged = super().table_of(rows[same]), self._merged(rows[~same])
        order = np.argsort(np.concatenate([np.flatnonzero(same), np.flatnonzero(~same)]))
        found = pa.concat_tables([whole.select(merged.column_names).cast(merged.schema), merged]).take(pa.array(order))
        for name, column in self.numbers.items():
            found = found.append_column(name, pa.array(column[rows]))
        return found

    def _merged(self, rows: Rows) -> pa.Table:
        with self._kept.making:
            missing = rows[self._kept.places[rows] < 0]
            if len(missing) and len(self._kept) + len(missing) > _KEPT_ROWS:
                self._kept.clear()
                missing = rows
            if len(missing):
                self._kept.add(*self._merge(self._with_likely(missing)))
            places, kept = self._kept.places[rows], self._kept.rows
        columns = [name for name in self.rows.column_names if name not in self.numbers]
        return self.rows.select(columns).slice(0, 0) if kept is None else kept.take(pa.array(places))

    def _with_likely(self, rows: Rows) -> Rows:
        """Return rows, and likely ones: three times as many as are kept.

        A merge of one row takes half the time of one of a thousand. So a filter that is asked often soon needs no
        merge, and one that is asked once has little made in vain.
        """
        number = len(self._kept)
        room = max(0, min(max(_AHEAD_ROWS, 3 * number), _KEPT_ROWS // 2 - number))
        return np.union1d(rows, self.likely[self._kept.places[self.likely] < 0][:room])

    def _merge(self, rows: Rows) -> tuple[Rows, pa.Table]:
        """Return rows merged again, and their numbers."""
        columns = [name for name in self.rows.column_names if name not in self.numbers]
        merged = self.rebuild(self.ids_at(rows)).select(columns)
        rows = self.rows_of(merged.column(0).to_pylist())
        before = self.rows.take(pa.array(rows))
        # A summary may use spellings of names from documents that are not allowed.
        stays = pa.chunked_array([self.described[rows]])
        for name in ("name", "src", "tgt"):
            if name in columns:
                stays = pc.and_(stays, pc.equal(before[name], merged[name]))
        description = pc.if_else(stays, before["description"], merged["description"])
        return rows, merged.set_column(columns.index("description"), "description", description)
