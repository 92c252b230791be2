"""Garbage collection of generations, exports, table and vector versions that no kept snapshot uses.

A generation, and a vector table, is written under the builder's lock, which the collection holds; a table version under
the lock of its source. Between storing a file and recording the version that names it no other process can tell that it
is needed, so the files of a source go under its lock, and stay where another process holds it.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import BuilderLockedError, StoreError
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import source_lock
from lightrag_dagster.storage.locks.base import Lock, require_held
from lightrag_dagster.storage.manifests import Manifest, Vectors
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots import generations, lance_files, snapshots
from lightrag_dagster.storage.snapshots.exported import exported_snapshots, forget_exports
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.lance_files import VectorFiles, drop_tables, find_unused, remove_versions
from lightrag_dagster.storage.snapshots.readers import is_read
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_log = logging.getLogger(__name__)

BEING_READ = "being read"
"""Why a snapshot is kept that a reader has open, if for nothing else."""


@dataclass
class Garbage:
    """The removed objects, or those that could be removed."""

    kept: dict[str, str]  # snapshot → why it stays
    sizes: dict[Path, int] = field(default_factory=dict, repr=False)  # bytes of files as they were found
    skipped: list[str] = field(default_factory=list)  # sources that another process ingested: all of theirs stays
    generations: list[str] = field(default_factory=list)
    graphs: list[Generation] = field(default_factory=list)  # kept snapshots that lose their graph
    exports: list[str] = field(default_factory=list)
    versions: dict[str, list[Path]] = field(default_factory=dict)  # source → unused files of its tables
    vector_tables: list[str] = field(default_factory=list)
    vectors: list[VectorFiles] = field(default_factory=list)
    _whole: list[Path] = field(default_factory=list, repr=False)
    _unread: dict[str, list[Path]] = field(default_factory=dict, repr=False)

    @property
    def table_versions(self) -> int:
        """Number of unused files of the sources' tables."""
        return sum(map(len, self.versions.values()))

    @property
    def bytes_before(self) -> int:
        """Size of snapshots, tables and vectors, as they were found."""
        return sum(self.sizes.values())

    @property
    def bytes_removed(self) -> int:
        """Size of what is no longer used."""
        unused = [*self._whole, *(path for one in self.versions.values() for path in one)]
        unused += [path for one in self.vectors for path in one.unused]
        return sum(self.sizes[path] for path in unused)

    @property
    def bytes_after(self) -> int:
        """Size of what is kept."""
        return self.bytes_before - self.bytes_removed


def collect_garbage(home: Home, retention: RetentionSettings, *, dry_run: bool, lock: Lock | None = None) -> Garbage:
    """Remove everything that no kept snapshot uses. Call it while holding the builder lock.

    Kept are the published snapshot, the newest `retention.snapshots`, those that were published within
    `retention.grace_days`, those that are held, pinned or being read, and the generation that is being built. The
    response and vector stores are left alone.

    Raises as `remove_unused`.
    """
    return remove_unused(home, kept_snapshots(home, retention), dry_run=dry_run, lock=lock)


def remove_unused(home: Home, kept: dict[str, str], *, dry_run: bool, lock: Lock | None = None) -> Garbage:
    """Remove everything that some kept snapshots do not use. Call it while holding the builder lock.

    Args:
        home: the home to clean.
        kept: snapshot → why it is kept.
        dry_run: only say what would be removed.
        lock: that lock.

    Raises:
        BuilderLockedError: it was lost, so that another process may build on what would be removed.
        StoreError: a record is damaged, or the disk refuses.
    """
    garbage = find_garbage(home, kept)
    if not dry_run:
        require_held(lock)  # for the listing may take long
        # A snapshot without its manifest cannot be opened, so do this first, in case the removal is interrupted.
        for name in garbage.generations:
            atomic.remove(home.generation(name) / generations.MANIFEST)
        for one in garbage.graphs:
            generations.remove_graph(one)
        forget_exports(home, garbage.exports)
        home.files.push(lock)
        exports = (home.exports / name for name in garbage.exports)
        for folder in (home.scratch, *map(home.generation, garbage.generations), *exports):
            home.files.remove_folder(folder)
        drop_tables(home, garbage.vector_tables)
        for table in garbage.vectors:
            remove_versions(home, table)
    _remove_versions(home, garbage, dry_run=dry_run)
    return garbage


def find_garbage(home: Home, kept: dict[str, str]) -> Garbage:
    """Return everything that some kept snapshots do not use, and the size of all; it takes no lock.

    Raises:
        StoreError: a record is damaged, or the disk refuses.
    """
    try:
        stored = {
            folder: home.files.list_folder(folder)
            for folder in (home.generations, home.exports, home.lance, home.root / "tables")
        }
        if home.bucket:  # this process may keep what another machine has removed
            stored[home.root / "tables"] |= atomic.files_below(home.root / "tables")
        sizes = {path: one.size for found in stored.values() for path, one in found.items()}
        garbage = Garbage(kept, sizes, generations=garbage_generations(home, kept))
        garbage.graphs = [one for one in replaced_graphs(home) if one.id in kept]
        garbage.exports = sorted(exported_snapshots(home) - kept.keys())
        _add_vectors(home, garbage, stored[home.lance])
        _add_versions(home, garbage, stored[home.root / "tables"])
    except OSError as error:
        raise StoreError(
            f"{error.filename or home.name} cannot be read: {error.strerror or error}; try again"
        ) from error
    gone = {home.generation(name) for name in garbage.generations}
    gone |= {home.exports / name for name in garbage.exports}
    gone |= {home.lance / f"{table}.lance" for table in garbage.vector_tables}
    gone |= {one.path(name) for one in garbage.graphs for name in (generations.GRAPH, generations.GRAPH_RECORD)}
    garbage._whole = [path for path in sizes if path in gone or not gone.isdisjoint(path.parents)]
    return garbage


def garbage_generations(home: Home, kept: Collection[str]) -> list[str]:
    """Return the generations that are not kept."""
    return sorted(path.name for path in home.generations.glob("gen-*") if path.name not in kept)


def replaced_graphs(home: Home) -> list[Generation]:
    """Return the generations whose graph database goes: another snapshot is published, and none is known to read it.

    That of the newest snapshot, which may wait for release, stays, and that of the generation that is being built.
    """
    stay = {
        one.snapshot_id for one in (snapshots.published_snapshot(home), *snapshots.list_snapshots(home)[-1:]) if one
    }
    if newest := read_record(home.newest, Pointer):
        stay.add(newest.id)
    found = {path.parent.name for path in home.generations.glob("gen-*/graph.*")}
    return [Generation(home, name) for name in sorted(found - stay) if not is_read(home, name)]


def kept_snapshots(home: Home, retention: RetentionSettings) -> dict[str, str]:
    """Return snapshot → why it is kept; raises StoreError when a record is damaged."""
    found = snapshots.list_snapshots(home)
    oldest = datetime.now(UTC) - timedelta(days=retention.grace_days)
    reasons = {one.snapshot_id: "published lately" for one in found if snapshots.last_published(home, one) > oldest}
    reasons |= {one.snapshot_id: "one of the newest" for one in found[-retention.snapshots :]}
    pinned = {snapshot: f"pinned as {name}" for name, snapshot in snapshots.pinned_snapshots(home).items()}
    reasons |= {one: why for one, why in pinned.items() if home.generation(one).exists()}  # a repair may remove it
    if newest := read_record(home.newest, Pointer):
        reasons.setdefault(newest.id, "being built")
    if held := snapshots.held_snapshot(home):
        reasons[held] = "held"
    if published := snapshots.published_snapshot(home):
        reasons[published.snapshot_id] = "published"
    return {one: BEING_READ for one in garbage_generations(home, reasons) if is_read(home, one)} | reasons


def _manifest(home: Home, name: str) -> Manifest | None:
    """Return what a generation was published with: of its other records people are told to delete those damaged."""
    return read_record(home.generation(name) / generations.MANIFEST, Manifest)


def _used_versions(home: Home, kept: Iterable[str]) -> set[Path]:
    """Return the files of the table versions that snapshots read."""
    tables, versions = SourceTables(home), set[tuple[str, str, str]]()
    for name in kept:
        manifest = _manifest(home, name)
        for source, used in (manifest.inputs if manifest else Generation(home, name).inputs()).sources.items():
            versions |= {(table, source, version) for table, version in used.items()}
    return {path for table, source, version in versions for path in tables.all_paths(table, source, version)}


def _add_versions(home: Home, garbage: Garbage, stored: Iterable[Path]) -> None:
    """Add the files of table versions that neither snapshots nor the source itself uses."""
    used = _used_versions(home, garbage.kept)
    unused = defaultdict[str, list[Path]](list)
    for path in stored:
        if path.suffix in (".parquet", ".shards", ".tmp") and path not in used:  # a killed write leaves the last
            unused[Home.source_of(path.parent)].append(path)
    garbage._unread = dict(sorted(unused.items()))
    found = {source: sorted(set(paths) - _recorded(home, source, paths)) for source, paths in garbage._unread.items()}
    garbage.versions = {source: paths for source, paths in found.items() if paths}


def _remove_versions(home: Home, garbage: Garbage, *, dry_run: bool) -> None:
    """Remove the unused files of table versions, source by source, except where another process ingests."""
    for source in list(garbage.versions):
        paths = garbage._unread[source]
        try:
            with source_lock(home, source, 0):
                _refresh(home, source, paths)
                garbage.versions[source] = gone = sorted(set(paths) - _recorded(home, source, paths))
                if not dry_run:
                    # Lists first: a kill would leave some that name files which are gone.
                    home.files.remove(sorted(gone, key=lambda path: path.suffix != ".shards"))
        except BuilderLockedError as error:
            _log.info("the older versions of %s stay: %s", source, error)
            garbage.skipped.append(source)
            del garbage.versions[source]


def _recorded(home: Home, source: str, paths: Iterable[Path]) -> set[Path]:
    """Return the files of current and accepted versions, and of a backfill, of the tables that have the `paths`."""
    tables = SourceTables(home)
    candidates = SourceTables(home, candidate=True)
    record = accepted(home, source)
    found = set()
    for table in {path.parent.parent.name for path in paths}:
        versions = {one.version for one in (tables.current(table, source), candidates.current(table, source)) if one}
        versions |= {one for one in (record.version(table),) if one} if record else set()
        found |= {path for version in versions for path in tables.all_paths(table, source, version)}
    return found


def _refresh(home: Home, source: str, paths: Iterable[Path]) -> None:
    """Take over what an ingestion elsewhere recorded of a source before its lock was taken."""
    records = [
        folder / name for folder in {path.parent for path in paths} for name in ("current.json", "candidate.json")
    ]
    home.files.refresh([*records, home.accepted(source)])


def _tags(home: Home, kept: dict[str, str], stored: Collection[Path]) -> dict[str, set[str]]:
    """Return vector table → the tags of it that kept generations read.

    A repair removes a table with all tags; those of others than the published snapshot do not come back.
    """
    tags, published = dict[str, set[str]](), read_record(home.published, Pointer)
    for name in kept:
        manifest = _manifest(home, name)
        record = manifest.vectors if manifest else read_record(home.generation(name) / generations.VECTORS, Vectors)
        for entry in record.tables.values() if record else ():
            if lance_files.tag_file(home, entry) in stored or (published and published.id == name):
                tags.setdefault(entry.table, set()).add(entry.tag)
    return tags


def _add_vectors(home: Home, garbage: Garbage, stored: Mapping[Path, Stored]) -> None:
    """Add the vector tables that no kept snapshot reads, and the unused files of the others."""
    tags = _tags(home, garbage.kept, stored)
    tables = defaultdict[str, dict[Path, Stored]](dict)
    for path, one in stored.items():
        tables[path.relative_to(home.lance).parts[0].removesuffix(".lance")][path] = one
    garbage.vector_tables = sorted(tables.keys() - tags.keys())
    garbage.vectors = [find_unused(home, table, kept, tables[table]) for table, kept in sorted(tags.items())]
