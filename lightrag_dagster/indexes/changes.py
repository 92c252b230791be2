"""The rows that two snapshots differ in, and what changed in each."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import QueryError, StoreError
from lightrag_dagster.storage.duckdb import rows_of, spilling, unreadable
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.manifests import Changed
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.generations import TABLES, Generation
from lightrag_dagster.storage.snapshots.snapshots import listed_by, previous_snapshot, require_published, snapshot_named
from lightrag_dagster.view_schemas import CHANGES

if TYPE_CHECKING:
    import duckdb


class _Compared(NamedTuple):
    """A table that is compared: the id and name of a row, and the columns whose values are shown."""

    table: str
    id: str
    name: str
    columns: tuple[str, ...]
    hash: str = "row_hash"


_FILTERED = ("author", "date", "tags", "access", "language")
_SAID = ("description", "mention_count", "chunk_count", "document_count", "sources")
_COMPARED = {
    "document": _Compared(
        *("raw_documents", "doc_id", "source || '/' || path"),
        ("status", "title", "content_hash", "content_length", "duplicate_of", "error", *_FILTERED),
        hash="md5(to_json(shown))",
    ),
    "entity": _Compared("entities", "entity_id", "name", ("name", "type", *_SAID, "degree")),
    "relation": _Compared("relations", "relation_id", "src || ' — ' || tgt", ("keywords", *_SAID, "weight", "rank")),
    "fact": _Compared(
        *("merged_facts", "fact_id", "concat_ws(' — ', subject, relation, coalesce(object, value))"),
        ("subject", "object", "value", "when_words", "passes", "mention_count", "sources"),
    ),
}


def compared(home: Home, before: str | None = None, after: str | None = None) -> tuple[Generation, Generation]:
    """Return two snapshots, given by id or name: the published one, and the one before it, unless given.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: there is no such snapshot, or none before.
    """
    refresh(home)
    last = require_published(home) if after is None else snapshot_named(home, after)
    first = previous_snapshot(home, last.snapshot_id) if before is None else snapshot_named(home, before)
    if first is None:
        raise QueryError(f"there is no snapshot before {last.snapshot_id}; {listed_by(home)}")
    return CheckedGeneration.of(home, first.snapshot_id), CheckedGeneration.of(home, last.snapshot_id)


def changes_between(before: Generation, after: Generation, most: int | None = None) -> pa.Table:
    """Return what differs between two snapshots, sorted by kind, name and id; raises StoreError.

    With `most`, only the first of each kind, at most this number. A row whose columns differ in places of evidence
    alone has `chunk_ids` as its column, without values.
    """
    return pa.concat_tables([CHANGES.empty_table(), *_changes(before, after, most)])


def count_changes(before: Generation, after: Generation, kinds: Iterable[str] = _COMPARED) -> dict[str, Changed]:
    """Return the numbers of rows of some kinds that differ between two snapshots; raises StoreError."""
    found = {}
    with spilling() as connection:
        for kind in kinds:
            _view(connection, _COMPARED[kind], before, after)
            (counts,) = connection.sql(read_sql(__package__, "count_changes")).fetchall()
            found[kind] = Changed(**dict(zip(Changed.model_fields, counts, strict=True)))
    return found


def _changes(before: Generation, after: Generation, most: int | None) -> Iterator[pa.Table]:
    with spilling() as connection:
        for kind, one in _COMPARED.items():
            _view(connection, one, before, after)
            columns = {"kind": kind, "columns": list(one.columns), "most": most}
            yield connection.sql(read_sql(__package__, "changes"), params=columns).to_arrow_table().cast(CHANGES)


def _view(connection: "duckdb.DuckDBPyConnection", one: _Compared, before: Generation, after: Generation) -> None:
    """Create the views `before` and `after` of the rows of a table that are compared."""
    import duckdb

    for view, generation in (("before", before), ("after", after)):
        shown = ", ".join(one.columns)
        try:
            rows = rows_of(connection, generation.table_files(one.table), TABLES[one.table])
            connection.sql(rows).project(
                f"{one.id} AS id, {one.name} AS name, struct_pack({shown}) AS shown, {one.hash} AS hash"
            ).create_view(view, replace=True)
        except duckdb.Error as error:
            raise StoreError(
                f"{one.table} of {generation.id} cannot be read: {unreadable(error)}, which mends the published "
                "snapshot, or name others"
            ) from error
