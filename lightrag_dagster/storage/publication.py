"""Publication: one pointer file says which generation is the published snapshot, and is replaced in one step."""

from collections.abc import Sequence
from datetime import UTC, datetime

from lightrag_dagster.errors import IntegrityError, StoreError
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.storage import files, generations
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Graph, Manifest, Pointer, Vectors, read_record

_NAMED_FINDINGS = 3


def publish(home: Home, generation: Generation, problems: Sequence[str]) -> Manifest:
    """Make a generation the published snapshot, when invariant I5 holds; the current one stays as it is.

    A generation that was published before, and is again, becomes the latest in sequence. While a rollback holds another
    snapshot, it becomes a snapshot that waits for `release`.

    Args:
        home: The home of the generation.
        generation: What to publish, finished.
        problems: What `integrity.findings` said of it just now.

    Raises:
        IntegrityError: I5 does not hold; what was published stays published.
        StoreError: a part of the generation, or the pointer, is missing or damaged, or the disk refuses.
    """
    holding = read_record(home.held, Pointer)
    latest = snapshots(home)[-1:] if holding else [one for one in [current_manifest(home)] if one]
    if latest and latest[0].snapshot_id == generation.id:
        return latest[0]
    if problems:
        named = "; ".join(problems[:_NAMED_FINDINGS])
        more = f"; and {len(problems) - _NAMED_FINDINGS} more" if len(problems) > _NAMED_FINDINGS else ""
        folder = home.generation(generation.id)
        raise IntegrityError(f"{generation.id} must not be published: {named}{more}; delete {folder} and run again")
    others = [one.sequence for one in snapshots(home) if one.snapshot_id != generation.id]
    published = Manifest(
        snapshot_id=generation.id,
        sequence=1 + max(others, default=0),
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs=generation.inputs(),
        rows=_rows(generation),
        vectors=generation.read_record(generations.VECTORS, Vectors),
        graph=generation.read_record(generations.GRAPH_COUNTS, Graph),
    )
    generation.write_record(generations.MANIFEST, published)
    # All that the pointer leads to is on disk before the pointer is; the vectors are since they were pinned.
    files.sync_tree(home.generation(generation.id))
    if holding is None:
        files.write_text(home.current, Pointer(id=generation.id).model_dump_json())
    return published


def current_manifest(home: Home) -> Manifest | None:
    """Return the published snapshot, or None when there is none yet.

    Raises:
        StoreError: the pointer or the manifest it names is missing or damaged.
    """
    pointer = read_record(home.current, Pointer)
    return manifest(home, pointer.id) if pointer else None


def manifest(home: Home, snapshot_id: str) -> Manifest:
    """Return a snapshot that is, or was, published.

    Raises:
        StoreError: there is none of that name, or its manifest is damaged.
    """
    found = read_record(home.generation(snapshot_id) / generations.MANIFEST, Manifest)
    if found is None:
        raise StoreError(f"there is no snapshot {snapshot_id} in {home.root}; `lightrag-dagster snapshots` lists them")
    return found


def snapshots(home: Home) -> list[Manifest]:
    """Return every snapshot of a home, first published first; raises StoreError when a manifest is damaged."""
    found = [manifest(home, path.parent.name) for path in home.generations.glob(f"gen-*/{generations.MANIFEST}")]
    return sorted(found, key=lambda one: one.sequence)


def _rows(generation: Generation) -> dict[str, int]:
    return {
        table: sum(files.count_rows(path) for path in generation.table_files(table))
        for table in (*SOURCE_TABLES, *MERGED_TABLES)
    }
