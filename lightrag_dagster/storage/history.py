"""Going back and forth between snapshots: names for them, rollback and release, and what differs between two."""

from typing import NamedTuple

from pydantic import Field

from lightrag_dagster.errors import NoSnapshotError, StoreError, one_line
from lightrag_dagster.storage import files
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Manifest, Pointer, Record, read_record
from lightrag_dagster.storage.publication import current_manifest, manifest, snapshots


class Pins(Record):
    """`pins.json`: names that people gave to snapshots."""

    names: dict[str, str] = Field(default={}, description="name → snapshot")


class Difference(NamedTuple):
    """What one snapshot has that another has not, and the reverse; names, sorted."""

    added: list[str]
    changed: list[str]
    removed: list[str]


# What a row is called, what it is known by, and what says that it changed.
_COMPARED = {
    "documents": ("raw_documents", "source || '/' || path", "content_hash || status"),
    "entities": ("entities", "name", "row_fingerprint"),
    "relations": ("relations", "src || ' — ' || tgt", "row_fingerprint"),
}


def pins(home: Home) -> dict[str, str]:
    """Return name → snapshot id; raises StoreError when the record is damaged."""
    return (read_record(home.pins, Pins) or Pins()).names


def pin(home: Home, name: str, snapshot_id: str | None) -> None:
    """Give a snapshot a name, or with None take the name away; a named snapshot is never removed.

    Raises:
        StoreError: there is no such snapshot or name, or the name looks like an id.
    """
    names = dict(pins(home))
    if snapshot_id is None:
        if names.pop(name, None) is None:
            raise StoreError(f"no snapshot is named {name!r}; `lightrag-dagster snapshots` lists the names")
    elif name.startswith("gen-") or not name.strip():
        raise StoreError(f"{name!r} cannot be a name; choose one that does not begin with gen-")
    else:
        names[name] = manifest(home, snapshot_id).snapshot_id
    files.write_text(home.pins, Pins(names=names).model_dump_json(indent=2))


def named(home: Home, name: str) -> Manifest:
    """Return a snapshot by its id or a name that was given to it; raises StoreError when there is none."""
    return manifest(home, pins(home).get(name, name))


def rollback(home: Home, name: str) -> Manifest:
    """Publish an older snapshot again, and keep it published until `release`; runs go on building meanwhile.

    Raises:
        StoreError: there is no such snapshot, or the disk refuses.
    """
    wanted = named(home, name)
    pointer = Pointer(id=wanted.snapshot_id).model_dump_json()
    files.write_text(home.held, pointer)
    files.write_text(home.current, pointer)
    return wanted


def release(home: Home) -> Manifest:
    """Publish the newest snapshot and let later ones follow.

    Raises:
        StoreError: nothing is held, or the disk refuses.
    """
    if held(home) is None:
        raise StoreError(f"no snapshot is held in {home.root}; publication already follows the newest one")
    newest = snapshots(home)[-1]
    files.write_text(home.current, Pointer(id=newest.snapshot_id).model_dump_json())
    home.held.unlink()
    return newest


def newest_snapshot(home: Home) -> Manifest | None:
    """Return the snapshot that was published last, or waits for `release`; None when there is none.

    Raises:
        StoreError: a manifest is damaged.
    """
    return snapshots(home)[-1] if held(home) else current_manifest(home)


def held(home: Home) -> str | None:
    """Return the snapshot that a rollback holds published, or None; raises StoreError when the record is damaged."""
    pointer = read_record(home.held, Pointer)
    return pointer.id if pointer else None


def difference(home: Home, before: str, after: str) -> dict[str, Difference]:
    """Return what changed from one snapshot to another: documents, entities and relations.

    Raises:
        StoreError: there is no such snapshot, or a table of it is missing or damaged.
    """
    import duckdb

    one, other = (Generation(home, named(home, name).snapshot_id) for name in (before, after))
    found = {}
    with duckdb.connect() as connection:
        for what, (table, name, version) in _COMPARED.items():
            for view, generation in (("before", one), ("after", other)):
                paths = [str(path) for path in generation.table_files(table)]
                try:
                    connection.read_parquet(paths).create_view(view, replace=True)
                except duckdb.Error as error:
                    raise StoreError(f"{table} of {generation.id} cannot be read: {one_line(error)}") from error
            rows = connection.execute(
                f"SELECT coalesce(a.name, b.name), CASE WHEN a.name IS NULL THEN 'added' WHEN b.name IS NULL "
                f"THEN 'removed' ELSE 'changed' END FROM (SELECT {name} AS name, {version} AS version FROM before) a "
                f"FULL JOIN (SELECT {name} AS name, {version} AS version FROM after) b USING (name) "
                "WHERE a.version IS DISTINCT FROM b.version ORDER BY 1"
            ).fetchall()
            kinds = {kind: [row for row, label in rows if label == kind] for kind in Difference._fields}
            found[what] = Difference(**kinds)
    return found


def published_or_error(home: Home) -> Manifest:
    """Return the published snapshot; raises NoSnapshotError when there is none."""
    current = current_manifest(home)
    if current is None:
        raise NoSnapshotError(f"nothing has been published in {home.root} yet; run `lightrag-dagster run` first")
    return current
