"""Per-source tables: immutable versions, one of them current, and what each was made from.

A version is one Parquet file of that name, or of a large table several, one a shard, that `<version>.shards` lists.
A backfill writes a candidate beside the current version (`candidate.json` beside `current.json`), so that what other
runs read stays until the whole source is accepted.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from lightrag_dagster.core import identity
from lightrag_dagster.errors import StoreError, one_line, unread
from lightrag_dagster.fact_schemas import PASS_SORT_KEYS, PASS_TABLES, kind_of, of_pass
from lightrag_dagster.listing_schemas import LISTING_STATE
from lightrag_dagster.schemas import SORT_KEYS, SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.records import read_record, write_record
from lightrag_dagster.storage.tables.shards import Shard, leaf_versions, version_of
from lightrag_dagster.storage.versions import Refusal, TableVersion

ALL_SOURCES = "all"
"""The place of a source in tables that are not partitioned by source."""

FIRST_ROWS = 5
"""Rows of a table that a report shows."""

_SCHEMAS = SOURCE_TABLES | UNPARTITIONED_TABLES | LISTING_STATE | PASS_TABLES
_SORT_KEYS = SORT_KEYS | PASS_SORT_KEYS | dict.fromkeys(LISTING_STATE, ("doc_id",))
_COUNTED = ("status", "error_kind", "recipe", "reason")
_SUMMED = ("entities", "relations", "facts", "rejected_rows", "open_dates", "file_words", "lost_words")


def schema_of(table: str) -> pa.Schema:
    """Return the schema of a table, also of one of a pass."""
    return _SCHEMAS[kind_of(table)]


def _sort_key(table: str) -> tuple[str, ...]:
    return _SORT_KEYS[kind_of(table)]


class StoredShard(NamedTuple):
    """A file of a table: its name, leaf → hash of its rows, and their number, counts and sums as in `TableVersion`.

    `first` has the first rows, FIRST_ROWS at most.
    """

    name: str
    leaves: dict[str, str]
    rows: int
    counts: dict[str, dict[str, int]]
    sums: dict[str, int]
    first: pa.Table


class MoreOfVersion(TypedDict, total=False):
    """Facts that a step adds to a version of its rows; see `TableVersion`."""

    new_sums: dict[str, int]
    reasons: list[str]
    losses_accepted: bool


class SourceTables:
    """The per-source tables of one home, to read and write.

    With `candidate`, tables are written as candidates of a backfill, and read as such where there is one.
    """

    def __init__(self, home: Home, *, candidate: bool = False) -> None:
        self.home = home
        self.candidate = candidate
        self._files = home.files

    def __reduce__(self) -> tuple[Callable[..., "SourceTables"], tuple[Home, bool]]:
        """Leave the database behind: a worker reads and writes files alone."""
        return _of_worker, (self.home.for_worker(), self.candidate)

    def write(self, table: str, source: str, rows: pa.Table, *, inputs: Mapping[str, str], recipe: str) -> TableVersion:
        """Store a table as one file and make it current, under the lock of its source.

        Raises as `store`, `record` and `ingesting`.
        """
        with ingesting(self.home, source, STEP_SECONDS):
            return self.record(table, source, [self.store(table, source, rows)], inputs=inputs, recipe=recipe)

    def store(self, table: str, source: str, rows: pa.Table) -> StoredShard:
        """Sort and store the rows of one shard; equal rows are the same file. No version has them yet.

        Call it in one block of `ingesting` with the `record` that names the file: without that, it is garbage.

        Raises:
            StoreError: the rows do not have the table's schema, or the disk refuses.
        """
        ordered = _in_order(table, rows)
        leaves = _leaves(table, ordered)
        name = version_of(schema_of(table), leaves)
        self._files.write(self._file(table, source, name), ordered)
        first = ordered.take(np.arange(min(FIRST_ROWS, ordered.num_rows)))  # a slice would keep all rows in memory
        return StoredShard(name, leaves, ordered.num_rows, _counts(ordered), sum_columns(ordered), first)

    def record(
        self,
        table: str,
        source: str,
        stored: Sequence[StoredShard],
        *,
        inputs: Mapping[str, str],
        recipe: str,
        **more: Unpack[MoreOfVersion],
    ) -> TableVersion:
        """Make the rows of all shards, in their order, the current version or the candidate of a backfill.

        Raises:
            StoreError: the disk refuses.
        """
        counts, sums = _totals(stored)
        more.setdefault("new_sums", sums)
        version = TableVersion(
            table=table,
            source=source,
            version=self._put_together(table, source, stored),
            rows=sum(one.rows for one in stored),
            inputs=dict(inputs),
            recipe=recipe,
            counts=counts,
            sums=sums,
            shards=len(stored),
            **more,
        )
        write_record(self._pointer(table, source, candidate=self.candidate), version)
        if table == "raw_documents":
            self._refusal(source).unlink(missing_ok=True)
        return version

    def take_over(self, table: str, source: str, version: str) -> str:
        """Store a version that may have other columns with today's, and return its name; "" is one of no rows.

        A version that is lost keeps its name, so that it is missed. One with a column that has no values of today's
        type, or that is damaged, is removed if other tables can make it again. Raises StoreError if none can.
        """
        if not version:
            return self.store(table, source, schema_of(table).empty_table()).name
        if not self.has(table, source, version):
            return version
        paths = self.open(table, source, version)
        try:
            stored = [self.store(table, source, atomic.read_conforming(path, schema_of(table))) for path in paths]
        except StoreError as error:
            if not isinstance(error.__cause__, pa.ArrowException) or isinstance(error.__cause__, MemoryError):
                raise
            if kind_of(table) in ("raw_documents", "extractions", "readings"):  # which may be gone, or were paid for
                raise StoreError(
                    f"{self.home.source_table(table, source)} cannot be taken over ({one_line(error.__cause__)}); go "
                    "back to the version that wrote it, or remove that folder and run again, which pays for what "
                    "today's settings do not find in the store"
                ) from error
            self._files.remove(self.all_paths(table, source, version))
            return version
        return self._put_together(table, source, stored)

    def refuse(self, source: str, listing: str, reason: str) -> None:
        """Note that the files of a listing, by its hash, were read and not taken; raises StoreError."""
        write_record(self._refusal(source), Refusal(files=listing, reason=reason))

    def refusal(self, source: str) -> Refusal | None:
        """Return the files that were read last, if they were not taken; raises StoreError for a damaged record."""
        return read_record(self._refusal(source), Refusal)

    def current(self, table: str, source: str) -> TableVersion | None:
        """Return the current version, for a backfill its candidate if there is one; None if never written."""
        found = _read(self._pointer(table, source, candidate=True)) if self.candidate else None
        return found or _read(self._pointer(table, source, candidate=False))

    def current_versions(self, source: str, passes: Iterable[str] = ()) -> dict[str, TableVersion]:
        """Return the current version of each of a source's tables that was written, with those of some passes."""
        tables = (*SOURCE_TABLES, *(of_pass(kind, name) for name in passes for kind in PASS_TABLES))
        return {table: version for table in tables if (version := self.current(table, source))}

    def has_candidate(self, source: str) -> bool:
        """Say whether a backfill of the source was begun and is not accepted yet."""
        tables = (*SOURCE_TABLES, *self.tables_of_passes(source))
        return any(self._pointer(table, source, candidate=True).exists() for table in tables)

    def tables_of_passes(self, source: str) -> list[str]:
        """Return the tables that passes have of a source, under their own names."""
        folder = self.home.source_table("", source).name
        return sorted(one.parent.name for one in self.home.root.glob(f"tables/*@*/{folder}"))

    def remove_records(self, source: str, tables: Iterable[str] | None = None) -> None:
        """Remove the records of all tables of a source, or of some; their files stay until `gc` removes them."""
        for table in (*SOURCE_TABLES, *LISTING_STATE, *self.tables_of_passes(source)) if tables is None else tables:
            for record in self.home.source_table(table, source).glob("*.json"):
                record.unlink(missing_ok=True)

    def promote(self, source: str, tables: Iterable[str] = SOURCE_TABLES) -> None:
        """Make a backfill's candidates the current versions; raises StoreError when the disk refuses."""
        pointers = [self._pointer(table, source, candidate=True) for table in tables]
        found = [pointer for pointer in pointers if pointer.exists()]
        for pointer in found:
            atomic.write_text(pointer.with_name("current.json"), pointer.read_text(encoding="utf-8"))
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
        """Read one version whole, the current one unless given.

        Raises:
            StoreError: the source has no such version.
        """
        paths = self.open(table, source, version or self.require(table, source).version)
        return pa.concat_tables([self._files.read(path, columns) for path in paths], promote_options="permissive")

    def read_shard(
        self, table: str, source: str, version: str, shard: Shard, columns: list[str] | None = None
    ) -> pa.Table:
        """Read the rows of one shard, of however many the version was stored in; `columns` include the sorted ids.

        Raises:
            StoreError: the source has no such version.
        """
        first, last = shard.leaves
        parts = self._parts(table, source, version)
        found = self._files.open(path for low, high, path in parts if low <= last and high >= first)
        empty = schema_of(table).empty_table().select(columns or schema_of(table).names)
        rows = [shard.of(self._files.read(path, columns), _sort_key(table)[0]) for path in found]
        return pa.concat_tables(rows, promote_options="permissive") if rows else empty

    def read_file(self, table: str, source: str, name: str) -> pa.Table:
        """Read what `store` has stored; raises StoreError."""
        return self._files.read(self._file(table, source, name))

    def open_stored(self, table: str, source: str, stored: Sequence[StoredShard]) -> list[Path]:
        """Return the files of shards to read, fetched from a bucket; raises StoreError."""
        return self._files.open(self._file(table, source, one.name) for one in stored)

    def has(self, table: str, source: str, version: str) -> bool:
        """Say whether the files of a version are there, fetching them from a bucket."""
        return all(path.exists() for path in self.open(table, source, version))

    def has_lost(self, version: TableVersion) -> bool:
        """Say whether a disk has lost a file of a version; a bucket is not asked, `find_damage` lists what it has."""
        return self.home.bucket is None and not self.has(version.table, version.source, version.version)

    def open(self, table: str, source: str, version: str) -> list[Path]:
        """Return the Parquet files of one version to read, in the order of their rows, fetched from a bucket.

        Raises:
            StoreError: their list is damaged, or the bucket refuses.
        """
        return self._files.open(self.paths(table, source, version))

    def paths(self, table: str, source: str, version: str) -> list[Path]:
        """Return the Parquet files of one version, in the order of their rows, whether or not they are there.

        Raises:
            StoreError: their list is damaged.
        """
        return [path for _, _, path in self._parts(table, source, version)]

    def paths_of_kind(self, kind: str, source: str, versions: Mapping[str, str]) -> list[Path]:
        """Return the files of those versions that are of a table, or of that of each pass; else as `paths`."""
        named = sorted(table for table in versions if kind_of(table) == kind)
        return [path for table in named for path in self.paths(table, source, versions[table])]

    def all_paths(self, table: str, source: str, version: str) -> list[Path]:
        """Return the Parquet files of one version and their list; raises as `paths`."""
        return [*self.paths(table, source, version), self._list(table, source, version)]

    def _parts(self, table: str, source: str, version: str) -> list[tuple[str, str, Path]]:
        """Return the first leaf, the last leaf and the path of each file."""
        path = self._file(table, source, version)
        if path.exists():
            return [(*Shard().leaves, path)]
        listed = self._list(table, source, version)
        if not listed.exists():
            self._files.open([path, listed])
        if path.exists() or not listed.exists():
            return [(*Shard().leaves, path)]
        try:
            found = json.loads(listed.read_text(encoding="utf-8"))
            return [(first, last, self._file(table, source, name)) for first, last, name in found]
        except (OSError, ValueError) as error:
            raise unread(listed, error, "delete it and run again") from error

    def _put_together(self, table: str, source: str, stored: Sequence[StoredShard]) -> str:
        """Write the list of the files of a version, if they are several; return its name."""
        version = version_of(schema_of(table), {leaf: rows for one in stored for leaf, rows in one.leaves.items()})
        filled = [one for one in stored if one.leaves]
        if len(filled) > 1:
            listed = [[min(one.leaves), max(one.leaves), one.name] for one in filled]
            with self._files.writing(self._list(table, source, version)) as path:
                path.write_text(json.dumps(listed), encoding="utf-8")
        return version

    def _refusal(self, source: str) -> Path:
        return self.home.source_table("raw_documents", source) / "refused.json"

    def _file(self, table: str, source: str, name: str) -> Path:
        return self.home.source_table(table, source) / f"{name}.parquet"

    def _list(self, table: str, source: str, version: str) -> Path:
        return self.home.source_table(table, source) / f"{version}.shards"

    def _pointer(self, table: str, source: str, *, candidate: bool) -> Path:
        return self.home.source_table(table, source) / ("candidate.json" if candidate else "current.json")


def _of_worker(home: Home, candidate: bool) -> SourceTables:
    return SourceTables(home.in_worker(), candidate=candidate)


def version_of_rows(table: str, rows: pa.Table) -> str:
    """Return the version that a table has once these rows, which are all, are stored."""
    return version_of(schema_of(table), _leaves(table, _in_order(table, rows)))


def _in_order(table: str, rows: pa.Table) -> pa.Table:
    expected = schema_of(table)
    if not rows.schema.equals(expected):
        raise StoreError(f"rows for {table} have another schema: {rows.schema} instead of {expected}")
    # Concatenated, lists that were read from Parquet get the schema's own names again, which are part of the hash.
    return pa.concat_tables([expected.empty_table(), rows]).sort_by(
        [(column, "ascending") for column in _sort_key(table)]
    )


def _leaves(table: str, rows: pa.Table) -> dict[str, str]:
    if table in UNPARTITIONED_TABLES:
        return {"": identity.table_version(rows)}
    return leaf_versions(rows, _sort_key(table)[0])


def _totals(stored: Sequence[StoredShard]) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Return the counts of values and the sums of columns over all shards."""
    counts: dict[str, Counter[str]] = {}
    sums: Counter[str] = Counter()
    for one in stored:
        sums.update(one.sums)
        for column, values in one.counts.items():
            counts.setdefault(column, Counter()).update(values)
    return {column: dict(sorted(values.items())) for column, values in counts.items()}, dict(sums)


def _counts(rows: pa.Table) -> dict[str, dict[str, int]]:
    counts = {column: count_values(rows[column]) for column in _COUNTED if column in rows.column_names}
    if "status" in counts and "error" in rows.column_names:
        counts["error"] = count_values(rows.filter(pc.is_valid(rows["error"]))["status"])
    if "media_type" in rows.column_names:
        counts["skipped"] = count_values(rows.filter(pc.equal(rows["status"], "skipped"))["media_type"])
    return counts


def count_values(column: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each value of a text column occurs, in order of value; nulls are left out."""
    counts = {str(item["values"]): int(item["counts"]) for item in column.drop_null().value_counts().to_pylist()}
    return dict(sorted(counts.items()))


def sum_columns(rows: pa.Table) -> dict[str, int]:
    """Return the sums of the columns that `TableVersion` adds up, of those that a table has."""
    return {name: pc.sum(rows[name]).as_py() or 0 for name in _SUMMED if name in rows.column_names}


def _read(pointer: Path) -> TableVersion | None:
    try:
        return _parsed(pointer.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise unread(pointer, error, "delete it and run again, which makes the table again") from error


@lru_cache(1024)
def _parsed(record: bytes) -> TableVersion:
    return TableVersion.model_validate_json(record)
