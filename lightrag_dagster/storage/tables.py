"""Per-source tables: immutable Parquet versions, one of them current, and what each was made from.

A backfill writes a candidate beside the current version (`candidate.json` beside `current.json`), so that what other
runs read stays until the whole source is accepted.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import SORT_KEYS, SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.storage import bucket, files
from lightrag_dagster.storage.home import Home

ALL_SOURCES = "all"
"""Where a table that is not partitioned by source keeps its versions."""

_SCHEMAS = SOURCE_TABLES | UNPARTITIONED_TABLES
_COUNTED = ("status", "error_kind", "recipe")


class TableVersion(BaseModel):
    """One version of one source's table.

    `inputs` names what it was made from (table → version, or another fact → hash); `fingerprint` the code and
    settings that follow today's at once. `counts` says of the columns status, error_kind and recipe how many rows have
    each value, so that nothing has to be read to judge the table; `reasons` are the first few reasons of failed rows.
    """

    model_config = ConfigDict(frozen=True)

    table: str
    source: str
    version: str
    rows: int
    inputs: dict[str, str]
    fingerprint: str
    counts: dict[str, dict[str, int]] = {}
    reasons: list[str] = []

    def count(self, column: str, value: str) -> int:
        """Return how many rows have `value` in one of the counted columns."""
        return self.counts.get(column, {}).get(value, 0)

    def outdated(self, recipe: str) -> int:
        """Return how many rows name another recipe."""
        return sum(rows for name, rows in self.counts.get("recipe", {}).items() if name != recipe)


class SourceTables:
    """Reads and writes the per-source tables of one home.

    With `candidate`, tables are written as candidates of a backfill, and read as such where there is one.
    """

    def __init__(self, home: Home, *, candidate: bool = False) -> None:
        self.home = home
        self.candidate = candidate

    def write(
        self,
        table: str,
        source: str,
        rows: pa.Table,
        *,
        inputs: Mapping[str, str],
        fingerprint: str,
        reasons: Sequence[str] = (),
    ) -> TableVersion:
        """Sort and store `rows` as the current version, or as the candidate; equal rows are the same version.

        Raises:
            StoreError: the rows do not have the table's schema, or the disk refuses.
        """
        expected = _SCHEMAS[table]
        if not rows.schema.equals(expected):
            raise StoreError(f"rows for {table} have another schema: {rows.schema} instead of {expected}")
        # Concatenated, lists that were read from Parquet get the schema's own names again, which are part of the hash.
        ordered = pa.concat_tables([expected.empty_table(), rows]).sort_by(
            [(column, "ascending") for column in SORT_KEYS[table]]
        )
        version = TableVersion(
            table=table,
            source=source,
            version=identity.table_version(ordered),
            rows=ordered.num_rows,
            inputs=dict(inputs),
            fingerprint=fingerprint,
            counts={name: count_values(ordered[name]) for name in _COUNTED if name in expected.names},
            reasons=list(reasons),
        )
        path = self.path(table, source, version.version)
        if not path.exists():
            files.write_parquet(path, ordered)
        files.write_text(self._pointer(table, source, candidate=self.candidate), version.model_dump_json(indent=2))
        return version

    def current(self, table: str, source: str) -> TableVersion | None:
        """Return the current version, for a backfill its candidate if there is one; None if never written."""
        found = _read(self._pointer(table, source, candidate=True)) if self.candidate else None
        return found or _read(self._pointer(table, source, candidate=False))

    def current_versions(self, source: str) -> dict[str, TableVersion]:
        """Return the current version of each of a source's tables that was written."""
        return {table: version for table in SOURCE_TABLES if (version := self.current(table, source))}

    def has_candidate(self, source: str) -> bool:
        """Say whether a backfill of the source was begun and is not accepted yet."""
        return any(self._pointer(table, source, candidate=True).exists() for table in SOURCE_TABLES)

    def promote(self, source: str) -> None:
        """Make a backfill's candidates the current versions; raises StoreError when the disk refuses."""
        pointers = [self._pointer(table, source, candidate=True) for table in SOURCE_TABLES]
        found = [pointer for pointer in pointers if pointer.exists()]
        for pointer in found:
            files.write_text(pointer.with_name("current.json"), pointer.read_text(encoding="utf-8"))
        for pointer in found:
            pointer.unlink()

    def require(self, table: str, source: str) -> TableVersion:
        """Return the current version.

        Raises:
            StoreError: the table was never written for this source.
        """
        current = self.current(table, source)
        if current is None:
            raise StoreError(f"source {source!r} has no {table} yet; materialise {table} for it first")
        return current

    def read(self, table: str, source: str, version: str | None = None, columns: list[str] | None = None) -> pa.Table:
        """Read one version, the current one unless given.

        Raises:
            StoreError: the source has no such version.
        """
        path = self.path(table, source, version or self.require(table, source).version)
        bucket.fetch(self.home, [path])
        return files.read_parquet(path, columns)

    def has(self, table: str, source: str, version: str) -> bool:
        """Say whether the Parquet file of a version is there, fetching it from a bucket."""
        path = self.path(table, source, version)
        bucket.fetch(self.home, [path])
        return path.exists()

    def path(self, table: str, source: str, version: str) -> Path:
        """Return the Parquet file of one version."""
        return self.home.source_table(table, source) / f"{version}.parquet"

    def _pointer(self, table: str, source: str, *, candidate: bool) -> Path:
        return self.home.source_table(table, source) / ("candidate.json" if candidate else "current.json")


def count_values(column: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each value of a text column occurs, in order of value; nulls are left out."""
    counts = {str(item["values"]): int(item["counts"]) for item in column.drop_null().value_counts().to_pylist()}
    return dict(sorted(counts.items()))


def _read(pointer: Path) -> TableVersion | None:
    try:
        return TableVersion.model_validate_json(pointer.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StoreError(f"{pointer} cannot be read; delete it and run again") from error
