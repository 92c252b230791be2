"""The layout of a home: a hash of what shapes its files, which follows from the code."""

from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from lightrag_dagster.core.identity import digest
from lightrag_dagster.schemas import (
    MERGED_TABLES,
    SORT_KEYS,
    SOURCE_TABLES,
    UNPARTITIONED_TABLES,
    columns_of,
    vector_schema,
)
from lightrag_dagster.storage.snapshots import records as of_snapshots
from lightrag_dagster.storage.tables import records as of_tables
from lightrag_dagster.storage.tables.reading_state import READING_STATE

RECORDS: tuple[type[BaseModel], ...] = (
    of_snapshots.Pointer,
    of_snapshots.Hold,
    of_snapshots.Pins,
    of_snapshots.GenerationRecord,
    of_snapshots.Vectors,
    of_snapshots.BuiltGraph,
    of_snapshots.BuiltViews,
    of_snapshots.Manifest,
    of_snapshots.PublishedFiles,
    of_snapshots.Exports,
    of_tables.TableVersion,
    of_tables.Refusal,
    of_tables.Accepted,
    of_tables.Upstream,
)
"""The records that a home keeps, with those in their fields."""


@cache
def layout() -> str:
    """Return a hash of the columns of all tables, the order of their rows, and the fields of all records."""
    tables = SOURCE_TABLES | MERGED_TABLES | UNPARTITIONED_TABLES | READING_STATE | {"vectors": vector_schema(1)}
    columns = {name: columns_of(schema) for name, schema in tables.items()}
    return digest(columns, SORT_KEYS, {kind.__name__: _shape_of(kind) for kind in RECORDS})


def _shape_of(kind: Any) -> object:
    """Return what tells the type of a field from others, the same in all versions of Python and of pydantic."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: [_shape_of(field.annotation), field.is_required()] for name, field in kind.model_fields.items()}
    name = getattr(get_origin(kind) or kind, "__name__", str(kind))
    return [name, *map(_shape_of, get_args(kind))]
