"""Garbage collection of generations, table versions and vector versions that no retained snapshot uses."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lancedb

from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage import bucket, generations
from lightrag_dagster.storage.acceptance import accepted
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Pointer, Vectors, read_record
from lightrag_dagster.storage.snapshots import (
    current_snapshot,
    held_snapshot,
    last_current,
    list_snapshots,
    snapshot_names,
)
from lightrag_dagster.storage.tables import SourceTables

MINIMUM_AGE = 60.0
"""Younger table versions stay: the run that wrote one may not have made it current yet. Seconds."""

CLEANUP_MARGIN = timedelta(seconds=10)
"""Time that LanceDB may take to begin a cleanup, whose limit is an age."""


@dataclass
class Garbage:
    """The removed objects, or in a dry run those to be removed. Sizes in bytes.

    `retained` maps each kept snapshot to the reason.
    """

    retained: dict[str, str] = field(default_factory=dict)
    generations: list[str] = field(default_factory=list)
    table_versions: int = 0
    vector_tables: list[str] = field(default_factory=list)
    bytes_before: int = 0
    bytes_after: int = 0


def collect_garbage(home: Home, retention: RetentionSettings, *, dry_run: bool) -> Garbage:
    """Remove everything that no retained snapshot uses. Call it while holding the builder lock.

    Retained are the current snapshot, the newest `retention.snapshots`, those that were current within
    `retention.grace_days`, held and named ones, and the generation that is being built. The response and vector stores
    are left alone.

    Raises:
        StoreError: a record is damaged, or the disk refuses.
    """
    return remove_unused(home, _retained(home, retention), dry_run=dry_run)


def remove_unused(home: Home, retained: dict[str, str], locked: Collection[str] = (), *, dry_run: bool) -> Garbage:
    """Remove everything that some retained snapshots do not use. Call it while holding the builder lock.

    Args:
        home: the home to clean.
        retained: snapshot → why it is retained.
        locked: sources whose locks the caller holds, so that no other process can make a young table version current.
        dry_run: only say what would be removed.

    Raises:
        StoreError: a record is damaged, or the disk refuses.
    """
    garbage = Garbage(retained=retained, bytes_before=_size(home))
    garbage.generations = sorted(
        path.name for path in home.generations.glob("gen-*") if path.name not in garbage.retained
    )
    versions = _unused_versions(home, garbage.retained, locked)
    garbage.table_versions = len(versions)
    tags = _tags(home, garbage.retained)
    found = bucket.stored_files(home, home.lance)
    stored = {path.relative_to(home.lance).parts[0].removesuffix(".lance") for path in found}
    garbage.vector_tables = sorted(stored - tags.keys())
    if not dry_run:
        # A snapshot without its manifest cannot be opened, so do this first, in case the removal is interrupted.
        for name in garbage.generations:
            (home.generation(name) / generations.MANIFEST).unlink(missing_ok=True)
        bucket.push(home)
        bucket.remove_scratch(home)
        for name in garbage.generations:
            bucket.remove_folder(home, home.generation(name))
        bucket.remove(home, versions)
        if stored:
            _clean_vectors(home, tags, garbage.vector_tables)
    garbage.bytes_after = _size(home)
    return garbage


def _retained(home: Home, retention: RetentionSettings) -> dict[str, str]:
    """Return snapshot → why it is retained."""
    found = list_snapshots(home)
    oldest = datetime.now(UTC) - timedelta(days=retention.grace_days)
    reasons = {one.snapshot_id: "in its grace period" for one in found if last_current(home, one) > oldest}
    reasons |= {one.snapshot_id: "recent" for one in found[-retention.snapshots :]}
    reasons |= {snapshot: f"named {name}" for name, snapshot in snapshot_names(home).items()}
    if newest := read_record(home.newest, Pointer):
        reasons.setdefault(newest.id, "newest built")
    if held := held_snapshot(home):
        reasons[held] = "held"
    if current := current_snapshot(home):
        reasons[current.snapshot_id] = "published"
    return reasons


def _unused_versions(home: Home, retained: dict[str, str], locked: Collection[str]) -> list[Path]:
    tables, candidates = SourceTables(home), SourceTables(home, candidate=True)
    used: set[Path] = set()
    for name in retained:
        for source, versions in Generation(home, name).inputs().sources.items():
            used |= {path for one in versions.items() for path in tables.all_paths(one[0], source, one[1])}
    stored = bucket.stored_files(home, home.root / "tables")
    times = {path: one.modified for path, one in stored.items() if path.suffix in (".parquet", ".shards")}
    for folder in {path.parent for path in times}:
        table, source = folder.parent.name, Home.source_of(folder)
        record = accepted(home, source)
        found = [one.version for one in (tables.current(table, source), candidates.current(table, source)) if one]
        found += [record.tables[table]] if record and table in record.tables else []
        used |= {path for version in found for path in tables.all_paths(table, source, version)}
    youngest = datetime.now(UTC) - timedelta(seconds=MINIMUM_AGE)
    return sorted(
        path
        for path, modified in times.items()
        if path not in used and (modified <= youngest or Home.source_of(path.parent) in locked)
    )


def _tags(home: Home, retained: dict[str, str]) -> dict[str, set[str]]:
    """Return vector table → the tags of it that retained generations read."""
    tags: dict[str, set[str]] = {}
    for name in retained:
        record = read_record(home.generation(name) / generations.VECTORS, Vectors)
        for entry in record.tables.values() if record else ():
            tags.setdefault(entry.table, set()).add(entry.tag)
    return tags


def _clean_vectors(home: Home, tags: dict[str, set[str]], unused: list[str]) -> None:
    database = lancedb.connect(home.lance_uri)
    for table in unused:
        database.drop_table(table)
    for table, kept in tags.items():
        handle = database.open_table(table)
        for tag in set(handle.tags.list()) - kept:
            handle.tags.delete(tag)
        handle.optimize()
        # LanceDB refuses to clean up past a tag, so what can go is what is older than the oldest one. No other builder
        # runs while the lock is held, so unverified files are those of a killed one.
        tagged = {handle.tags.get_version(tag) for tag in kept}
        oldest = min(one["timestamp"] for one in handle.list_versions() if one["version"] in tagged)
        age = datetime.now(oldest.tzinfo) - oldest + CLEANUP_MARGIN
        handle.optimize(cleanup_older_than=age, delete_unverified=True)


def _size(home: Home) -> int:
    folders = (home.generations, home.lance, home.root / "tables")
    return sum(one.size for folder in folders for one in bucket.stored_files(home, folder).values())
