"""Shards of an ingestion: a step, the rows it may reuse, its work on each shard, and its report."""

import heapq
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.engines.engine import Engine, Item, Result
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.raw_documents import Slow
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import MoreOfVersion, SourceTables, StoredShard, schema_of
from lightrag_dagster.storage.versions import TableVersion

REASONS = 3
"""Failures that a table's record and report name."""

# Shards that are handed to an engine at a time, for each of its workers: what they work on is in memory.
_SHARDS_A_WORKER = 4


class IngestionStep(NamedTuple):
    """A step of an ingestion: a source, its tables, today's recipes. It can be sent to workers."""

    source: str
    tables: SourceTables
    recipes: Recipes

    @classmethod
    def of(cls, source: str, tables: SourceTables, recipes: Recipes) -> "IngestionStep":
        """Return a step without the URL of the database, which workers do not need."""
        return cls(source, tables, replace(recipes, settings=recipes.settings.model_copy(update={"database": None})))

    @property
    def settings(self) -> Settings:
        """Today's settings."""
        return self.recipes.settings

    def open(self, table: str, version: str) -> list[Path]:
        """Return the files of a version of one of its tables, to be read."""
        return self.tables.open(table, self.source, version)

    def read_shard(self, table: str, version: str, shard: Shard, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of a shard of a version of one of its tables; raises StoreError."""
        return self.tables.read_shard(table, self.source, version, shard, columns)

    def store(self, table: str, rows: pa.Table) -> StoredShard:
        """Store the rows of a shard of one of its tables; raises StoreError."""
        return self.tables.store(table, self.source, rows)


class Reusable(NamedTuple):
    """Earlier versions of tables, whose rows are kept while what they were made from is the same.

    The first version of a table that has a row counts; with `recipe`, only rows of that recipe do.
    """

    versions: dict[str, tuple[str, ...]]
    recipe: str | None = None

    @classmethod
    def of(cls, table: str, source: str, tables: SourceTables, recipe: str) -> "Reusable":
        """Return the earlier versions of a source's table; in a backfill, only rows of `recipe`. Raises StoreError."""
        return cls({table: tuple(earlier_versions(tables, table, source))}, recipe if tables.candidate else None)

    def version(self, table: str) -> str | None:
        """Return the first version of a table."""
        return next(iter(self.versions.get(table, ())), None)

    def first(self, step: IngestionStep, table: str, shard: Shard, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of a shard in the first version of a table; none where there is no version."""
        version = self.version(table)
        return schema_of(table).empty_table() if version is None else step.read_shard(table, version, shard, columns)

    def rows(self, step: IngestionStep, table: str, shard: Shard) -> list[pa.Table]:
        """Return the rows of a shard in each version of a table."""
        found = [step.read_shard(table, version, shard) for version in self.versions[table]]
        return [rows.filter(pc.equal(rows["recipe"], self.recipe)) for rows in found] if self.recipe else found

    def open(self, step: IngestionStep, table: str) -> list[Path]:
        """Return the files of all versions of a table, to be read."""
        return [path for version in self.versions[table] for path in step.open(table, version)]


def earlier_versions(tables: SourceTables, table: str, source: str) -> list[str]:
    """Return the versions of a source's table that are on disk: the current one, then the accepted one.

    In a backfill the candidate comes first. Raises StoreError when a record is damaged.
    """
    record = accepted(tables.home, source)
    found = [tables.current(table, source), SourceTables(tables.home).current(table, source)]
    versions = [one.version for one in found if one] + ([record.version(table)] if record else [])
    return [version for version in dict.fromkeys(versions) if version and tables.has(table, source, version)]


@dataclass(frozen=True)
class ShardResult:
    """Result of a step on one shard: a file of each table, the rows kept of each, and the first failures: key, reason.

    `usage` counts the calls of a model for it; an `unfinished` one is to be made again by the next run. `slowest` are
    the documents that took longest to read, `new_sums` those of `TableVersion`. One that is `lacking` has documents
    that are to be listed to be read again.
    """

    files: tuple[StoredShard, ...]
    kept: tuple[int, ...] = (0,)
    reasons: list[tuple[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    unfinished: bool = False
    slowest: list[Slow] = field(default_factory=list)
    new_sums: dict[str, int] = field(default_factory=dict)
    lacking: bool = False


@dataclass(frozen=True)
class StageReport:
    """Result of one step: the version, its first rows, the number of rows that were kept, and the calls of the model.

    `answers_cost_usd` is what the stored responses of all its rows cost when they were bought. US dollars.
    """

    version: TableVersion
    first: pa.Table
    kept: int = 0
    usage: Usage = field(default_factory=Usage)
    answers_cost_usd: float = 0.0


@contextmanager
def ingestion(tables: SourceTables, source: str) -> Iterator[Path]:
    """Hold the lock of a source and yield an empty folder, without the files that a killed ingestion left in it."""
    with ingesting(tables.home, source, STEP_SECONDS):
        folder = tables.home.ingestion_folder(source)
        shutil.rmtree(folder, ignore_errors=True)
        with disk_errors(folder):
            folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def each_shard(
    engine: Engine, function: Callable[[Item], Result], tasks: Iterable[Item], counted: tuple[str, Sequence[Shard], int]
) -> list[Result]:
    """Run a task for each shard in batches, and report progress: a stage, its shards and all its rows."""
    stage, parts, total = counted
    if len(parts) == 1:
        return [function(task) for task in tasks]
    made: list[Result] = []
    several, waiting = engine.workers > 1, iter(tasks)
    while window := list(islice(waiting, _SHARDS_A_WORKER * engine.workers if several else 1)):
        with progress.part(len(made), len(parts), total):
            made += engine.map(function, window)
        progress.report(stage, total * len(made) // len(parts), total)
    return made


def record(
    step: IngestionStep,
    table: str,
    made: Sequence[ShardResult],
    at: int = 0,
    *,
    inputs: Mapping[str, str],
    recipe: str,
    **more: Unpack[MoreOfVersion],
) -> StageReport:
    """Record the files that shards have at one place as a version of a table, and report it; raises StoreError."""
    stored = [one.files[at] for one in made]
    version = step.tables.record(table, step.source, stored, inputs=inputs, recipe=recipe, **more)
    return report(version, stored, sum(one.kept[at] for one in made))


def report(
    version: TableVersion, stored: Sequence[StoredShard], kept: int = 0, usage: Usage | None = None
) -> StageReport:
    """Return the report of a step that recorded a version of some shards."""
    first = next((one.first for one in stored if one.rows), stored[0].first)
    return StageReport(version, first, kept, usage or Usage())


def first_reasons(made: Sequence[ShardResult]) -> list[str]:
    """Return the first failures of all shards, as `path: error`, paths of the same error together."""
    reasons = dict[str, list[str]]()
    for path, error in heapq.nsmallest(REASONS, (reason for one in made for reason in one.reasons)):
        reasons.setdefault(error, []).append(path)
    return [f"{', '.join(paths)}: {error}" for error, paths in reasons.items()]


def failures(rows: pa.Table, key: str, places: pa.Table | None = None) -> list[tuple[str, str]]:
    """Return the first failures by key, as path and error; a failed chunk has the first path in `places`."""
    failed = rows.filter(pc.equal(rows["status"], "failed")).select([key, "error"]).to_pylist()
    first = heapq.nsmallest(REASONS, ((one[key], one["error"]) for one in failed))
    if places is None:
        return first
    return [(pc.min(places.filter(pc.field(key) == one)["path"]).as_py(), error) for one, error in first]
