"""Rewriting of vector tables, so that no file has a deleted row.

LanceDB marks rows as deleted and keeps them in their files, also for the versions that are left.
"""

from datetime import timedelta

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.lance import lance_errors, open_database
from lightrag_dagster.indexes.vector_index import update_index
from lightrag_dagster.indexes.vector_writer import pin, write_anew
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable

_AT_ONCE = timedelta(milliseconds=1)  # For 0, LanceDB warns of readers.


def rewrite_vectors(home: Home, entry: VectorTable) -> None:
    """Write the rows of a tagged version into new files, index them, and move the tag there; nothing is removed yet.

    Raises StoreError when the table cannot be read or written; the tag stays.
    """
    database = open_database(home)
    with lance_errors(entry.table):
        pinned = database.open_table(entry.table)
        pinned.checkout(entry.tag)
        handle = write_anew(database, pinned, entry.dimensions)
        update_index(handle, entry.table)
        handle.optimize()
        pin(handle, entry.tag)


def remove_other_versions(home: Home, entry: VectorTable) -> None:
    """Remove every version of a vector table except the tagged one, which is the newest.

    Raises StoreError when another one is left, since a process writes the table.
    """
    with lance_errors(entry.table):
        handle = open_database(home).open_table(entry.table)
        for tag in set(handle.tags.list()) - {entry.tag}:
            handle.tags.delete(tag)
        handle.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)
        left = {one["version"] for one in handle.list_versions()}
        if left != {handle.tags.get_version(entry.tag)}:
            raise StoreError(f"vector table {entry.table} still has older versions; end what writes it, and run again")
