"""Damage of the published snapshot and of the databases, and repair: what is damaged is built again by the next run."""

import logging
from collections.abc import Sequence, Set
from pathlib import Path

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.database.address import is_there
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import Lock
from lightrag_dagster.storage.records import Pointer, read_record
from lightrag_dagster.storage.snapshots.generations import VECTORS, Generation, remove_graph
from lightrag_dagster.storage.snapshots.snapshots import held_snapshot, list_snapshots, set_published
from lightrag_dagster.storage.snapshots.verify import Damage, find_damage, is_of_graph, require_right
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_log = logging.getLogger(__name__)


def check_databases(home: Home) -> None:
    """Open each database of a home that exists; raises StoreError for one that is damaged or cannot be reached."""
    for address in {home.ledger, home.responses, home.vectors, home.batches, home.decisions}:
        if is_there(address):
            Database(address, []).close()


def find_published_damage(home: Home, *, verify: bool = False) -> list[Damage]:
    """Return the damaged files of the published snapshot; without `verify` only existence and size are checked."""
    refresh(home)
    if pointers := [path for path in (home.published, home.newest) if not _is_whole(path)]:
        return [Damage(path, "is damaged") for path in pointers]
    published = read_record(home.published, Pointer)
    return find_damage(home, published.id, verify=verify) if published else []


def repair_published(home: Home, there: Set[str], *, verify: bool = False, lock: Lock | None = None) -> list[Damage]:
    """Remove what is damaged of the published snapshot, so that the next run builds it again; return what is built.

    That is none if a table is lost that no run makes, as of a source that is not among those that are `there`.
    Raises as `remove_damaged`, and is to be called as that is.
    """
    damage = find_published_damage(home, verify=verify)
    pointers = [one for one in damage if one.path in (home.published, home.newest)]
    for one in pointers:
        _log.warning("%s; it is written again", one)
        atomic.remove(one.path)
    if home.published in (one.path for one in pointers):
        _point_again(home, lock)
    published = read_record(home.published, Pointer)
    if published and not pointers and damage:
        for one in damage:
            if why := _why_lost(home, one.path, there):
                _log.warning(
                    "%s, and the snapshot stays as it is, since no run makes this again: %s, or put the file back from "
                    "a backup",
                    *(one, why),
                )
                return []
        remove_damaged(home, published.id, damage, lock)
    return damage


def remove_damaged(home: Home, snapshot_id: str, damage: Sequence[Damage], lock: Lock | None = None) -> None:
    """Remove the damaged files of a snapshot, and its generation, so that the next run builds them again.

    The table of a source is made again from stored responses, a vector table from stored vectors. Until then readers
    get the newest snapshot without damage, or none. If only the graph database is damaged, nothing else is removed,
    and readers keep the snapshot.

    Args:
        home: the home of the snapshot.
        snapshot_id: the published snapshot.
        damage: what `find_damage` returned for it, at least one.
        lock: the builder's lock, which the caller holds.

    Raises:
        BuilderLockedError: another process ingests a source whose table is damaged.
        StoreError: the snapshot is held, so that no run would build it again; or a record is damaged.
    """
    of_graph = all(map(is_of_graph, damage))
    if not of_graph and held_snapshot(home) == snapshot_id:
        raise StoreError(
            f"{damage[0]}, and {snapshot_id} is held; `lightrag-dagster release` publishes the newest snapshot"
        )
    for one in damage:
        _log.warning("%s; it is removed and built again", one)
    if of_graph:
        remove_graph(Generation(home, snapshot_id))
        return
    for one in damage:
        if one.path.is_relative_to(home.lance):
            _remove_vectors(home, one.path.relative_to(home.lance).parts[0])
        elif one.path.is_relative_to(home.root / "tables"):
            _remove_version(home, one.path)
    home.files.remove_folder(home.generation(snapshot_id))
    newest = read_record(home.newest, Pointer)
    published = read_record(home.published, Pointer)
    if newest is not None and newest.id == snapshot_id:
        home.newest.unlink()
    if published is not None and published.id == snapshot_id and not _point_again(home, lock):
        home.published.unlink()


def _point_again(home: Home, lock: Lock | None) -> bool:
    """Point to the held snapshot, or the newest one without damage; return False if there is none."""
    sound = [one for one in list_snapshots(home) if all(map(is_of_graph, find_damage(home, one.snapshot_id)))]
    if held := held_snapshot(home):
        sound = [one for one in sound if one.snapshot_id == held]
    if sound:
        set_published(home, sound[-1].snapshot_id, lock)
    return bool(sound)


def _is_whole(pointer: Path) -> bool:
    try:
        read_record(pointer, Pointer)
    except StoreError as error:
        require_right(error)
        return False
    return True


def _remove_vectors(home: Home, folder: str) -> None:
    """Remove a vector table, and the records of generations that have it, which then are built whole if they return."""
    home.files.remove_folder(home.lance / folder)
    for record in home.generations.glob(f"gen-*/{VECTORS}"):
        if folder.removesuffix(".lance").encode() in record.read_bytes():
            record.unlink()


def _remove_version(home: Home, path: Path) -> None:
    """Remove a file of a source's table, and the record of the current version if that has it, under its lock."""
    tables = SourceTables(home)
    table = path.parent.parent.name
    source = Home.source_of(path.parent)
    with ingesting(home, source):
        current = tables.current(table, source)
        if current is not None and path in tables.all_paths(table, source, current.version):
            (path.parent / "current.json").unlink()
        home.files.remove([path])


def _why_lost(home: Home, path: Path, there: Set[str]) -> str:
    """Return why no run makes a file again, and what to do: its accepted table is not what is read now; "" if one does.

    Readers keep a snapshot that only lacks such a file.
    """
    if not path.is_relative_to(home.root / "tables"):
        return ""
    tables = SourceTables(home)
    table = path.parent.parent.name
    source = Home.source_of(path.parent)
    current, record = tables.current(table, source), accepted(home, source)
    version = record.version(table) if record else ""
    if not version or path not in tables.all_paths(table, source, version):
        return ""
    if source not in there:
        return f"source {source} is gone; bring it back"
    later = f"what was read of {source} since is not accepted; correct it until `lightrag-dagster run` accepts it"
    return later if current is not None and current.version != version else ""
