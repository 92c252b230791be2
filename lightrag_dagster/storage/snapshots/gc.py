"""Garbage collection of generations, table versions and vector versions that no retained snapshot uses.

A generation, and a vector table, is written under the builder's lock, which the collection holds; a table version under
the lock of its source. Between storing a file and recording the version that names it no other process can tell that it
is needed, so the files of a source go under its lock, and stay where another process holds it.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lancedb

from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.locks import source_lock
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.records import Pointer, Vectors, read_record
from lightrag_dagster.storage.snapshots.snapshots import (
    current_snapshot,
    held_snapshot,
    last_current,
    list_snapshots,
    snapshot_names,
)
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_log = logging.getLogger(__name__)

CLEANUP_MARGIN = timedelta(seconds=10)
"""Time that LanceDB may take to begin a cleanup, whose limit is an age."""


@dataclass
class Garbage:
    """The removed objects, or in a dry run those to be removed. Sizes in bytes.

    `retained` maps each kept snapshot to the reason; `skipped` are sources whose table versions all stay, since another
    process was ingesting them.
    """

    retained: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
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


def remove_unused(home: Home, retained: dict[str, str], *, dry_run: bool) -> Garbage:
    """Remove everything that some retained snapshots do not use. Call it while holding the builder lock.

    Args:
        home: the home to clean.
        retained: snapshot → why it is retained.
        dry_run: only say what would be removed.

    Raises:
        StoreError: a record is damaged, or the disk refuses.
    """
    garbage, used = Garbage(retained=retained, bytes_before=_size(home)), _used_versions(home, retained)
    garbage.generations = sorted(
        path.name for path in home.generations.glob("gen-*") if path.name not in garbage.retained
    )
    tags = _tags(home, garbage.retained)
    found = home.files.list_folder(home.lance)
    stored = {path.relative_to(home.lance).parts[0].removesuffix(".lance") for path in found}
    garbage.vector_tables = sorted(stored - tags.keys())
    if not dry_run:
        # A snapshot without its manifest cannot be opened, so do this first, in case the removal is interrupted.
        for name in garbage.generations:
            (home.generation(name) / generations.MANIFEST).unlink(missing_ok=True)
        home.files.push()
        for folder in (home.scratch, *map(home.generation, garbage.generations)):
            home.files.remove_folder(folder)
        if stored:
            _clean_vectors(home, tags, garbage.vector_tables)
    _remove_versions(home, garbage, used, dry_run=dry_run)
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


def _used_versions(home: Home, retained: Iterable[str]) -> set[Path]:
    """Return the files of the table versions that snapshots read."""
    tables, versions = SourceTables(home), set[tuple[str, str, str]]()
    for name in retained:
        for source, used in Generation(home, name).inputs().sources.items():
            versions |= {(table, source, version) for table, version in used.items()}
    return {path for table, source, version in versions for path in tables.all_paths(table, source, version)}


def _remove_versions(home: Home, garbage: Garbage, used: Collection[Path], *, dry_run: bool) -> None:
    """Remove the files of table versions, source by source, that neither snapshots nor the source itself uses."""
    unused: dict[str, list[Path]] = defaultdict(list)
    for path in home.files.list_folder(home.root / "tables"):
        if path.suffix in (".parquet", ".shards") and path not in used:
            unused[Home.source_of(path.parent)].append(path)
    for source, paths in sorted(unused.items()):
        if not set(paths) - _recorded(home, source, paths):
            continue
        try:
            with source_lock(home, source, 0):
                _refresh(home, source, paths)
                gone = sorted(set(paths) - _recorded(home, source, paths))
                if not dry_run:
                    home.files.remove(gone)
                garbage.table_versions += len(gone)
        except BuilderLockedError as error:
            _log.info("the older versions of %s stay: %s", source, error)
            garbage.skipped.append(source)


def _recorded(home: Home, source: str, paths: Iterable[Path]) -> set[Path]:
    """Return the files of current and accepted versions, and of a backfill, of the tables that have the `paths`."""
    tables, candidates, record = SourceTables(home), SourceTables(home, candidate=True), accepted(home, source)
    found = set()
    for table in {path.parent.parent.name for path in paths}:
        versions = {one.version for one in (tables.current(table, source), candidates.current(table, source)) if one}
        versions |= {record.tables[table]} if record and table in record.tables else set()
        found |= {path for version in versions for path in tables.all_paths(table, source, version)}
    return found


def _refresh(home: Home, source: str, paths: Iterable[Path]) -> None:
    """Take over what an ingestion elsewhere recorded of a source before its lock was taken."""
    records = [
        folder / name for folder in {path.parent for path in paths} for name in ("current.json", "candidate.json")
    ]
    home.files.take_over([*records, home.accepted(source)])


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
    return sum(one.size for folder in folders for one in home.files.list_folder(folder).values())
