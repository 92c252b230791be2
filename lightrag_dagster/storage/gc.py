"""Removing what nobody needs: generations, table versions and vector versions of no retained snapshot."""

import shutil
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import lancedb

from lightrag_dagster.schemas import SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.storage import generations
from lightrag_dagster.storage.acceptance import accepted
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.history import held, pins
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.leases import door, leased
from lightrag_dagster.storage.manifest import Pointer, Vectors, read_record
from lightrag_dagster.storage.publication import current_manifest, snapshots
from lightrag_dagster.storage.tables import SourceTables

SETTLED_SECONDS = 60.0
"""A younger version of a table stays: the run that wrote it may not have said yet that it is the current one."""

CLOCK_MARGIN = timedelta(seconds=10)
"""How long LanceDB may take to begin a cleanup, during which its idea of old grows."""


@dataclass
class Garbage:
    """What was, or would be, removed. `retained` says why each snapshot stays; sizes are bytes."""

    retained: dict[str, str] = field(default_factory=dict)
    generations: list[str] = field(default_factory=list)
    table_versions: int = 0
    vector_tables: list[str] = field(default_factory=list)
    bytes_before: int = 0
    bytes_after: int = 0


def collect_garbage(home: Home, keep: int, *, dry_run: bool) -> Garbage:
    """Remove all that no retained snapshot needs. Call it while holding the builder's lock.

    Retained are the published snapshot, the newest `keep`, those that are held or have a name, those that a living
    reader has open, and what is being built. The response and vector stores are left alone.

    Raises:
        StoreError: a record is damaged, or the disk refuses.
    """
    with door(home):
        garbage = Garbage(retained=_retained(home, keep), bytes_before=_size(home))
        garbage.generations = sorted(
            path.name for path in home.generations.glob("gen-*") if path.name not in garbage.retained
        )
        if not dry_run:
            # What has no manifest is no snapshot: nobody can open it from here on, should this be interrupted too.
            for name in garbage.generations:
                (home.generation(name) / generations.MANIFEST).unlink(missing_ok=True)
    versions = _unused_versions(home, garbage.retained)
    garbage.table_versions = len(versions)
    tags = _tags(home, garbage.retained)
    garbage.vector_tables = sorted(path.stem for path in home.lance.glob("*.lance") if path.stem not in tags)
    if not dry_run:
        for name in garbage.generations:
            shutil.rmtree(home.generation(name))
        for path in versions:
            path.unlink()
        _clean_vectors(home, tags, garbage.vector_tables)
    garbage.bytes_after = _size(home)
    return garbage


def _retained(home: Home, keep: int) -> dict[str, str]:
    reasons: dict[str, str] = {one.snapshot_id: "recent" for one in snapshots(home)[-keep:]}
    reasons |= dict.fromkeys(leased(home), "open in a reader")
    reasons |= {snapshot: f"named {name}" for name, snapshot in pins(home).items()}
    if newest := read_record(home.newest, Pointer):
        reasons.setdefault(newest.id, "newest built")
    if holding := held(home):
        reasons[holding] = "held"
    if current := current_manifest(home):
        reasons[current.snapshot_id] = "published"
    return reasons


def _unused_versions(home: Home, retained: dict[str, str]) -> list[Path]:
    tables, candidates = SourceTables(home), SourceTables(home, candidate=True)
    used: set[Path] = set()
    sources: set[str] = set()
    for name in retained:
        for source, versions in Generation(home, name).inputs().sources.items():
            used |= {tables.path(table, source, version) for table, version in versions.items()}
            sources.add(source)
    unused = []
    for table in (*SOURCE_TABLES, *UNPARTITIONED_TABLES):
        for folder in (home.root / "tables" / table).glob("*"):
            source = Home.source_of(folder)
            current, record = tables.current(table, source), accepted(home, source)
            candidate = candidates.current(table, source)
            kept = {one.version for one in (current, candidate) if one}
            kept |= {record.tables.get(table, "")} if record else set()
            unused += [path for path in folder.glob("*.parquet") if path not in used and path.stem not in kept]
    youngest = time.time() - SETTLED_SECONDS
    unused = [path for path in unused if path.stat().st_mtime <= youngest]
    return sorted(unused)


def _tags(home: Home, retained: dict[str, str]) -> dict[str, set[str]]:
    """Return vector table → the tags of it that retained generations pin."""
    tags: dict[str, set[str]] = {}
    for name in retained:
        record = read_record(home.generation(name) / generations.VECTORS, Vectors)
        for entry in record.tables.values() if record else ():
            tags.setdefault(entry.table, set()).add(entry.tag)
    return tags


def _clean_vectors(home: Home, tags: dict[str, set[str]], unused: list[str]) -> None:
    if not home.lance.exists():
        return
    database = lancedb.connect(home.lance)
    for table in unused:
        database.drop_table(table)
    for table, kept in tags.items():
        handle = database.open_table(table)
        for tag in set(handle.tags.list()) - kept:
            handle.tags.delete(tag)
        handle.optimize()
        # LanceDB refuses to clean up beyond a tag, so what goes is what is older than the oldest one. No other builder
        # is at work while the lock is held: what is unverified is what a killed one left.
        pinned = {handle.tags.get_version(tag) for tag in kept}
        oldest = min(one["timestamp"] for one in handle.list_versions() if one["version"] in pinned)
        age = datetime.now(oldest.tzinfo) - oldest + CLOCK_MARGIN
        handle.optimize(cleanup_older_than=age, delete_unverified=True)


def _size(home: Home) -> int:
    folders = (home.generations, home.lance, home.root / "tables")
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
