"""Published snapshots: publish, list, name and roll back.

A snapshot is a generation with a manifest. `PUBLISHED` points to the one that readers open; replacing that file is the
whole of publication and of rollback.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import IntegrityError, LightRAGError, NoSnapshotError, QueryError, StoreError
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locks.base import Lock, require_held
from lightrag_dagster.storage.manifests import Gates, Hold, Manifest, Pins, Vectors
from lightrag_dagster.storage.records import Pointer, read_record, write_record
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import TABLES, Generation
from lightrag_dagster.storage.snapshots.verify import find_damage, is_of_graph, record_files

_log = logging.getLogger(__name__)

NO_GATES = Gates()

UNPUBLISHED_SCOPE = (
    "the settings lack it, it shows no document, or no run has made it yet; correct its rule under `scopes`, or "
    "`access` of documents, then run `lightrag-dagster run`"
)
"""Why nothing of a scope is published, and what to do."""

_NAMED_PROBLEMS = 3
_LONGEST = 200  # bytes of an id, by which a folder can be named everywhere


def publish(
    home: Home,
    generation: Generation,
    problems: Sequence[str],
    lock: Lock | None = None,
    *,
    gates: Gates = NO_GATES,
    manual: bool = False,
) -> Manifest:
    """Write the manifest of a generation and publish it, unless it has problems.

    Publishing the newest snapshot again changes nothing; publishing an older one again makes it the newest. While a
    person or a gate holds another snapshot, the pointer stays and the new one waits for `release`.

    Args:
        home: the home of the generation.
        generation: a finished generation.
        problems: what `integrity.findings` returned for it.
        lock: the builder's lock; the pointer stays when it was lost.
        gates: the results of the gates; with a fault, the snapshot before is held, and without one no longer.
        manual: hold the snapshot before in any case.

    Raises:
        IntegrityError: there are problems, and the published snapshot stays; or faults, and none to hold.
        BuilderLockedError: the lock was lost; the published snapshot stays.
        StoreError: a part of the generation, or the pointer, is missing or damaged, or the disk refuses.
    """
    newest = newest_snapshot(home)
    if newest is not None and newest.snapshot_id == generation.id:
        return newest
    _require_publishable(home, generation, problems, gates)
    manifest = Manifest(
        snapshot_id=generation.id,
        sequence=_next_sequence(home, generation),
        published_at=now(),
        inputs=generation.inputs(),
        rows=_count_rows(generation),
        vectors=generation.read_record(generations.VECTORS, Vectors),
        gates=gates,
    )
    # All that the manifest and the pointer lead to is on disk before they are; the vectors are since they were tagged.
    with atomic.replacing(generation.path(generations.MANIFEST)) as written:
        written.write_text(manifest.model_dump_json(indent=2), encoding="utf-8")
        record_files(home, manifest, newest.snapshot_id if newest else None, written)
        atomic.sync_tree(home.generation(generation.id))
    _point_or_hold(home, manifest, lock, manual=manual)
    return manifest


def _require_publishable(home: Home, generation: Generation, problems: Sequence[str], gates: Gates) -> None:
    """Raise IntegrityError for a generation with problems, and for a first one with faults."""
    if problems:
        named = some_of(problems, _NAMED_PROBLEMS, ";")
        folder = home.generation(generation.id)
        raise IntegrityError(f"{generation.id} must not be published: {named}; delete {folder} and run again")
    if gates.faults and not home.published.exists():
        faults = "; ".join(gates.faults)
        raise IntegrityError(
            f"{generation.id} must not be published as the first snapshot: {faults}; correct the documents, or the "
            "check, and run again"
        )


def _next_sequence(home: Home, generation: Generation) -> int:
    """Return the number of a snapshot that becomes the newest."""
    others = [one.sequence for one in list_snapshots(home) if one.snapshot_id != generation.id]
    left = home_format.left(home)
    return 1 + max(others, default=left.sequence if left else 0)


def _point_or_hold(home: Home, newest: Manifest, lock: Lock | None, *, manual: bool) -> None:
    """Point readers to the newest snapshot, or hold the one that they open; raises as `set_published`."""
    published, held = read_record(home.published, Pointer), _hold(home)
    if held and not held.by_gate:
        return
    if published and published.id != newest.snapshot_id and (manual or newest.gates.faults):
        write_record(home.held, Hold(id=published.id, by_gate=not manual))
        return
    set_published(home, newest.snapshot_id, lock)
    home.held.unlink(missing_ok=True)


def list_snapshots(home: Home) -> list[Manifest]:
    """Return the snapshots of a home in order of publication; raises StoreError when a manifest is damaged."""
    found = [read_manifest(home, path.parent.name) for path in home.generations.glob(f"gen-*/{generations.MANIFEST}")]
    return sorted(found, key=lambda one: one.sequence)


def read_manifest(
    home: Home, snapshot_id: str, unknown: type[LightRAGError] = StoreError, missing: str = ""
) -> Manifest:
    """Return the manifest of a snapshot; `missing` says what to do if there is none, other than to list them.

    Raises:
        LightRAGError: there is no such snapshot; of the class `unknown`, as a caller may have named it.
        StoreError: its manifest is damaged.
    """
    file = home.generation(snapshot_id) / generations.MANIFEST
    found = read_record(file, Manifest) if _is_name(snapshot_id) else None
    if found is None:
        raise unknown(f"there is no snapshot {snapshot_id[:_LONGEST]} in {home.name}; {missing or listed_by(home)}")
    return found


def _is_name(given: str) -> bool:
    """Say whether a text may name a folder within another."""
    return len(given.encode("utf-8", "replace")) <= _LONGEST and "/" not in given and "\0" not in given


def listed_by(home: Home) -> str:
    """Return what to know of the snapshots of a home when one is not there."""
    return "a scope keeps the published one alone" if home.scope else "`snapshots` lists them"


def snapshot_named(home: Home, name: str) -> Manifest:
    """Return a snapshot by its id or the name that it is pinned as.

    Raises QueryError when there is none, and for any but the published one of a scope: an earlier one, which is there
    while a reader has it open, may show what is hidden by now.
    """
    if home.scope and name != require_published(home).snapshot_id:
        raise QueryError(f"there is no snapshot {name[:_LONGEST]} in scope {home.scope}; {listed_by(home)}")
    return read_manifest(home, pinned_snapshots(home).get(name, name), QueryError)


def published_snapshot(home: Home) -> Manifest | None:
    """Return the snapshot that readers open, or None before the first publication.

    Raises:
        StoreError: the pointer or the manifest is missing or damaged.
    """
    pointer = read_record(home.published, Pointer)
    return read_manifest(home, pointer.id, missing=f"PUBLISHED names it; {Pointer.mended_by}") if pointer else None


def require_published(home: Home) -> Manifest:
    """Return the published snapshot; raises NoSnapshotError before the first publication."""
    return required(home, published_snapshot(home))


def required(home: Home, snapshot: Manifest | None) -> Manifest:
    """Return the published snapshot of a home, if there is one; raises NoSnapshotError before the first publication."""
    if snapshot is None and home.parent:
        raise NoSnapshotError(f"no scope {home.scope} is published in {home.parent.name}: {UNPUBLISHED_SCOPE}")
    if snapshot is None:
        raise NoSnapshotError(
            f"nothing has been published in {home.name} yet; run `lightrag-dagster run` first, or the jobs `ingest` "
            "and `publish`"
        )
    return snapshot


def refresh_snapshot(home: Home, name: str | None = None) -> None:
    """Fetch the records of a snapshot from a bucket, by its id or name, by default of the published one.

    Raises as `home_format.require_readable`, also for a home on disk.
    """
    home.files.refresh([home.published, home.pins, home.format])
    home_format.require_readable(home)
    pointer = read_record(home.published, Pointer)
    wanted = pinned_snapshots(home).get(name, name) if name else pointer.id if pointer else None
    if wanted and _is_name(wanted):
        folder = home.generation(wanted)
        home.files.refresh([folder / generations.MANIFEST, folder / generations.RECORD])


def find_snapshot(home: Home, name: str | None) -> Manifest:
    """Return the manifest of a snapshot by its id or name, by default of the published one.

    Its records are fetched from a bucket. Raises as `refresh_snapshot`, `require_published` and `snapshot_named`.
    """
    refresh_snapshot(home, name)
    return require_published(home) if name is None else snapshot_named(home, name)


def without_graph(home: Home) -> Generation | None:
    """Return the published snapshot if its graph database is not built; raises as `published_snapshot`."""
    published = published_snapshot(home)
    generation = Generation(home, published.snapshot_id) if published else None
    return None if generation is None or generation.has(generations.GRAPH_RECORD) else generation


def newest_snapshot(home: Home) -> Manifest | None:
    """Return the snapshot that was built last: the published one, or the one that waits for `release`.

    Raises:
        StoreError: a pointer or manifest is damaged.
    """
    held, published = _hold(home), published_snapshot(home)
    if held is None:
        return published
    # One without faults ends the hold of a gate; if it did not, its publication was interrupted and is made again.
    waiting = [one for one in list_snapshots(home) if one.gates.faults or not held.by_gate]
    return waiting[-1] if waiting else published


def held_snapshot(home: Home) -> str | None:
    """Return the id of the snapshot that is held, or None; raises StoreError when the record is damaged."""
    held = _hold(home)
    return held.id if held else None


def _hold(home: Home) -> Hold | None:
    """Return the hold in force: of a person, also if a kill left the pointer behind, or of a gate on what it points to.

    Any other has ended, and a kill left its record.
    """
    held = read_record(home.held, Hold)
    published = read_record(home.published, Pointer)
    return held if held and (not held.by_gate or published is None or held.id == published.id) else None


def last_published(home: Home, snapshot: Manifest) -> datetime:
    """Return when a reader could last open a snapshot as the published one: its replacement, or its publication."""
    pointer = read_record(home.published, Pointer)
    replaced = pointer.replaced.get(snapshot.snapshot_id) if pointer else None
    return datetime.fromisoformat(max(replaced or "", snapshot.published_at))


def pinned_snapshots(home: Home) -> dict[str, str]:
    """Return name → snapshot that has it; raises StoreError when the record is damaged."""
    return (read_record(home.pins, Pins) or Pins()).names


def pin(home: Home, name: str, snapshot_id: str | None) -> None:
    """Give a snapshot a name, or with None remove the name. `gc` keeps a snapshot with a name.

    Raises:
        QueryError: there is no such snapshot.
        StoreError: there is no such name, another snapshot has the name, or it looks like an id or has a character
            that is not seen.
    """
    names = dict(pinned_snapshots(home))
    if snapshot_id is None:
        if names.pop(name, None) is None:
            raise StoreError(f"no snapshot is pinned as {name!r}; `lightrag-dagster snapshots` lists the names")
    elif name.startswith("gen-") or name == "published" or not name.strip() or not name.isprintable():
        raise StoreError(
            f"{name!a} cannot be a name; choose one of visible characters that does not begin with gen-, and not "
            "`published`"
        )
    else:
        wanted = read_manifest(home, snapshot_id, QueryError).snapshot_id
        if names.setdefault(name, wanted) != wanted:
            raise StoreError(
                f"{names[name]} is pinned as {name}, so `gc` keeps it; `lightrag-dagster snapshots unpin {name}` first"
            )
    write_record(home.pins, Pins(names=names))


def rollback(home: Home, name: str, lock: Lock | None = None) -> Manifest:
    """Point to an older snapshot and hold it until `release`, unless the builder's lock was lost; runs keep building.

    Raises BuilderLockedError, QueryError when there is no such snapshot, and StoreError when a file of it is lost or
    the disk refuses.
    """
    wanted = snapshot_named(home, name)
    if damage := [one for one in find_damage(home, wanted.snapshot_id) if not is_of_graph(one)]:
        raise StoreError(f"{damage[0]}, so {wanted.snapshot_id} cannot be opened; put it back, or choose another")
    require_held(lock)
    write_record(home.held, Hold(id=wanted.snapshot_id))
    set_published(home, wanted.snapshot_id, lock)
    return wanted


def release(home: Home, lock: Lock | None = None) -> Manifest:
    """Point to the newest snapshot and stop holding, unless the builder's lock was lost.

    Raises BuilderLockedError, and StoreError when nothing is held or the disk refuses.
    """
    if (held := read_record(home.held, Hold)) is None:
        raise StoreError(f"no snapshot is held in {home.name}; publication already follows the newest one")
    newest = newest_snapshot(home)
    if newest is None:
        raise StoreError(f"{home.name} has no snapshot to publish; delete {home.held} and run `lightrag-dagster run`")
    require_held(lock)
    write_record(home.held, Hold(id=held.id, by_gate=True))  # which ends by itself after a kill
    set_published(home, newest.snapshot_id, lock)
    home.held.unlink()
    return newest


def previous_snapshot(home: Home, snapshot_id: str) -> Manifest | None:
    """Return the snapshot that was published before another; None if there is none any more, and in a scope."""
    listed = [] if home.scope else list_snapshots(home)
    place = next((at for at, one in enumerate(listed) if one.snapshot_id == snapshot_id), 0)
    return listed[place - 1] if place else None


def set_published(home: Home, snapshot_id: str, lock: Lock | None = None) -> None:
    """Point readers to a snapshot; raises BuilderLockedError when the builder's lock was lost, and StoreError."""
    before = read_record(home.published, Pointer)
    replaced = {}
    if before is not None:
        replaced = {one: when for one, when in before.replaced.items() if home.generation(one).exists()}
        if before.id != snapshot_id:
            replaced[before.id] = now()
    require_held(lock)
    write_record(home.published, Pointer(id=snapshot_id, replaced=replaced))
    home.files.push(lock)
    link_views(home, snapshot_id)


def link_views(home: Home, snapshot_id: str) -> None:
    """Let the views of a home on disk be those of a snapshot, at once; where a disk has no links, there are none."""
    target = (home.generation(snapshot_id) / generations.VIEWS).relative_to(home.root)
    if not home.bucket and (error := atomic.link(home.views, target)):
        _log.info("%s is not linked to the views of %s: %s", home.views, snapshot_id, error)


def _count_rows(generation: Generation) -> dict[str, int]:
    return {
        table: sum(atomic.count_rows(path) for path in generation.table_files(table))
        for table in (TABLES if generation.merges_passes() else [*SOURCE_TABLES, *MERGED_TABLES])
    }


def now() -> str:
    """Return the time: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")
