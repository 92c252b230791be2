"""The layout of a home: a hash of what shapes its files, which follows from the code."""

from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from lightrag_dagster import schemas
from lightrag_dagster.core.identity import digest
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, PASS_TABLES
from lightrag_dagster.listing_schemas import LISTING_STATE
from lightrag_dagster.storage import manifests, versions
from lightrag_dagster.storage.records import Pointer

RECORDS: tuple[type[BaseModel], ...] = (
    Pointer,
    manifests.Hold,
    manifests.Pins,
    manifests.GenerationRecord,
    manifests.Vectors,
    manifests.BuiltGraph,
    manifests.BuiltViews,
    manifests.Manifest,
    manifests.PublishedFiles,
    manifests.Exports,
    versions.TableVersion,
    versions.Refusal,
    versions.Accepted,
    versions.Upstream,
)
"""The records that a home keeps, with those in their fields."""


@cache
def layout() -> str:
    """Return a hash of the columns of all tables, the order of their rows, and the fields of all records."""
    tables = (
        schemas.SOURCE_TABLES
        | schemas.MERGED_TABLES
        | schemas.UNPARTITIONED_TABLES
        | LISTING_STATE
        | PASS_TABLES
        | MERGED_PASS_TABLES
        | {"vectors": schemas.vector_schema(1)}
    )
    columns = {name: schemas.columns_of(schema) for name, schema in tables.items()}
    return digest(columns, schemas.SORT_KEYS, {kind.__name__: _shape_of(kind) for kind in RECORDS})


def _shape_of(kind: Any) -> object:
    """Return what tells the type of a field from others, the same in all versions of Python and of pydantic."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: [_shape_of(field.annotation), field.is_required()] for name, field in kind.model_fields.items()}
    if get_origin(kind) is Annotated:
        return _shape_of(get_args(kind)[0])  # its validators have an address in memory
    name = getattr(get_origin(kind) or kind, "__name__", str(kind))
    return [name, *map(_shape_of, get_args(kind))]
