"""The file of views that analysts open, `views.duckdb` of a snapshot: its comments, and a check that it is current.

DuckDB is imported only to write one, so that `status` can look whether there is one to write.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress

from lightrag_dagster.core import identity
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.duckdb import quoted
from lightrag_dagster.storage.manifests import BuiltViews, FileSum
from lightrag_dagster.storage.records import read_record
from lightrag_dagster.storage.snapshots.generations import VIEWS, VIEWS_RECORD, Generation
from lightrag_dagster.view_schemas import DERIVED_VIEWS, DESCRIPTIONS, MACROS
from lightrag_dagster.view_schemas import VIEWS as SCHEMAS


def is_current(generation: Generation, *, verify: bool = False) -> bool:
    """Return True if a generation has views that were made in this place for these tables and have not changed since.

    Without `verify`, only their size is compared. In a bucket they have no record, and are only read by their maker.
    """
    path, found = generation.path(VIEWS), None
    if generation.home.bucket or not path.exists():
        return path.exists()
    with suppress(StoreError):  # a damaged record is written again, with its views
        found = read_record(generation.path(VIEWS_RECORD), BuiltViews)
    if found is None or (found.folder, found.tables) != (str(path.parent), _tables()):
        return False
    return FileSum.of(path) == found.file if verify else path.stat().st_size == found.file.size


def record(generation: Generation) -> None:
    """Write the record of views that were just written; raises StoreError."""
    if generation.home.bucket is None:
        path = generation.path(VIEWS)
        found = BuiltViews(folder=str(path.parent), tables=_tables(), file=FileSum.of(path))
        generation.write_record(VIEWS_RECORD, found)


def comments(kind: str = "VIEW", tables: Collection[str] = SCHEMAS) -> Iterator[str]:
    """Yield a statement for the comment on each view, or table of its name, and each of its columns."""
    for table, schema in ((name, schema) for name, schema in SCHEMAS.items() if name in tables):
        yield f"COMMENT ON {kind} {table} IS {quoted(DESCRIPTIONS[table])}"
        for field in schema:
            description = (field.metadata or {})[b"description"].decode()
            yield f'COMMENT ON COLUMN {table}."{field.name}" IS {quoted(description)}'


def derived_sql() -> dict[str, str]:
    """Return for each of DERIVED_VIEWS and MACROS the statement that creates it."""
    return {name: read_sql(__package__, name) for name in (*DERIVED_VIEWS, *MACROS)}


def _tables() -> str:
    """Return a hash of the tables that the views show, independent of the folder."""
    kinds = [str(kind) for schema in SCHEMAS.values() for kind in schema.types]
    return identity.digest(list(comments()), derived_sql(), kinds)
