"""Removal of vector tables, and of versions of them, from LanceDB."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.lance_files import VectorFiles

MAX_DELETED_SHARE = 0.25
"""A table is written again when more than this share of its stored rows is deleted ones."""

MAX_FRAGMENTS = 200
"""A table is written again when it has more parts than this; each writing adds one."""

_NEVER = timedelta(days=36_500)


def drop_tables(home: Home, tables: Iterable[str]) -> None:
    """Remove whole tables; raises StoreError when LanceDB refuses."""
    import lancedb

    for table in tables:
        try:
            lancedb.connect(home.lance_uri).drop_table(table)
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(f"vector table {table} cannot be removed: {error}") from error


def remove_versions(home: Home, found: VectorFiles) -> None:
    """Remove the unused files of a table; write it again if that is worth it.

    Call it while holding the builder's lock.

    Raises:
        StoreError: LanceDB counts other files in a version that is needed, so that nothing was removed; or it refuses.
    """
    import lancedb

    try:
        handle = lancedb.connect(home.lance_uri).open_table(found.table)
        counted = {one["version"]: one["metadata"] for one in handle.list_versions()}
        for version, paths in found.kept.items():
            _require_same(found.table, version, paths, counted[version])
        home.files.remove(found.unused)
        if _is_worth_a_rewrite(counted[handle.version]):
            handle.optimize(cleanup_older_than=_NEVER)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise StoreError(f"vector table {found.table} cannot be cleaned: {error}; the next `gc` tries again") from error


def _require_same(table: str, version: int, paths: Collection[Path], counted: dict[str, Any]) -> None:
    """Check that the files of a version are as many as LanceDB counts; raises StoreError."""
    for folder, name in (("data", "total_data_files"), ("_deletions", "total_deletion_files")):
        if sum(path.parent.name == folder for path in paths) != int(counted[name]):
            raise StoreError(
                f"vector table {table} has other files in version {version} than LanceDB counts; nothing of it was "
                "removed: this version of lancedb is not known, so tell the authors of lightrag-dagster"
            )


def _is_worth_a_rewrite(counted: dict[str, Any]) -> bool:
    """Say whether many rows are deleted ones, or the table has many parts. Snapshots keep the files from before."""
    deleted, stored = int(counted["total_deletion_file_rows"]), int(counted["total_data_file_rows"])
    return deleted > MAX_DELETED_SHARE * stored or int(counted["total_fragments"]) > MAX_FRAGMENTS
