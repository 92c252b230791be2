"""Per-source tables: immutable Parquet versions, one of them current, and what it was made from."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import SORT_KEYS, SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.storage import files
from lightrag_dagster.storage.home import Home

ALL_SOURCES = "all"
"""Where a table that is not partitioned by source keeps its versions."""

_SCHEMAS = SOURCE_TABLES | UNPARTITIONED_TABLES


class TableVersion(BaseModel):
    """One version of one source's table.

    `inputs` names what it was made from (table → version, or another fact → hash); `fingerprint` the code and
    settings it was made with. Equal inputs and fingerprint mean that making it again would change nothing.
    """

    model_config = ConfigDict(frozen=True)

    table: str
    source: str
    version: str
    rows: int
    inputs: dict[str, str]
    fingerprint: str


class SourceTables:
    """Reads and writes the per-source tables of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def write(
        self, table: str, source: str, rows: pa.Table, *, inputs: Mapping[str, str], fingerprint: str
    ) -> TableVersion:
        """Sort and store `rows` as the current version; equal rows are the same version.

        Raises:
            StoreError: the rows do not have the table's schema, or the disk refuses.
        """
        expected = _SCHEMAS[table]
        if not rows.schema.equals(expected):
            raise StoreError(f"rows for {table} have another schema: {rows.schema} instead of {expected}")
        ordered = rows.sort_by([(column, "ascending") for column in SORT_KEYS[table]])
        version = TableVersion(
            table=table,
            source=source,
            version=identity.table_version(ordered),
            rows=ordered.num_rows,
            inputs=dict(inputs),
            fingerprint=fingerprint,
        )
        path = self.path(table, source, version.version)
        if not path.exists():
            files.write_parquet(path, ordered)
        files.write_text(path.parent / "current.json", version.model_dump_json(indent=2))
        return version

    def current(self, table: str, source: str) -> TableVersion | None:
        """Return the current version, or None when the table was never written."""
        path = self._home.source_table(table, source) / "current.json"
        try:
            return TableVersion.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise StoreError(f"{path} cannot be read; delete it and run again") from error

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
        chosen = version or self.require(table, source).version
        return files.read_parquet(self.path(table, source, chosen), columns)

    def path(self, table: str, source: str, version: str) -> Path:
        """Return the Parquet file of one version."""
        return self._home.source_table(table, source) / f"{version}.parquet"
