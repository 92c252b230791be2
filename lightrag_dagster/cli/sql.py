"""`sql`: DuckDB over the tables of a snapshot."""

import resource
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain

import pyarrow as pa
from rich.console import Console

from lightrag_dagster.cli.rows import Form, print_rows
from lightrag_dagster.core.serving import limit_further
from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes import sql
from lightrag_dagster.indexes.changes import changes_between, compared
from lightrag_dagster.query.arguments import text
from lightrag_dagster.query.home_tables import tables_of_home, told
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots import snapshots
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration

_SHOWN_ROWS = 100


def run_sql(
    console: Console,
    statements: str,
    form: Form,
    *,
    snapshot: str | None = None,
    unpublished: bool = False,
    timeout: float | None = None,
    allow_external: bool = False,
) -> None:
    """Print the rows of every statement; those of other forms than a table go to standard output alone.

    The tables are those of a snapshot, by default the published one, or the newest of each source if `unpublished`.
    They may read `snapshots`, `costs`, `ledger`, `changes` and `communities` too, made when they are asked for.

    Several results are separated by an empty line; as JSON each is an array on a line of its own. Rows are printed as
    they come: if a statement fails midway, the rows before that are printed.

    Raises:
        NoSnapshotError: no source was ever read.
        QueryError: DuckDB refuses a statement, or it needs too much memory or time; earlier rows are printed.
        QueryError: there is no such snapshot.
        StoreError: a table of it is missing or damaged.
    """
    text(statements, "the SQL")
    home = Home.of(load_settings())
    tables = _newest_tables(home) if unpublished else _tables(home, snapshot)
    makers = {
        "changes": lambda one: changes_between(*compared(one, after=snapshot)),
        "communities": lambda one: _communities(one, snapshot),
    }
    of_home, lacking = tables_of_home(home, statements, makers)
    with (
        told(lacking),
        sql.open_tables(tables, more=of_home, allow_external=allow_external) as connection,
        nullcontext() if allow_external else _bounded(sql.PROCESS_LIMITS * sql.memory_limit(connection)),
    ):
        words = sql.IN_WORDS if form == "json" else sql.NESTED_TOO
        for number, rows in enumerate(sql.results(connection, statements, timeout=timeout, in_words=words)):
            if number and form != "json":
                sys.stdout.write("\n")
            names = rows.schema.names
            texts = [field.name for field in rows.schema if not pa.types.is_primitive(field.type)]
            shown, more = _first(rows) if form == "table" else (chain.from_iterable(map(_rows_of, rows)), 0)
            print_rows(console, form, names, shown, wrap=texts, more=more)
            sys.stdout.flush()


def _communities(home: Home, snapshot: str | None) -> pa.Table:
    from lightrag_dagster.pipeline.communities import communities, communities_of

    if snapshot is None:
        return communities(home)
    return communities_of(CheckedGeneration.of(home, snapshots.snapshot_named(home, snapshot).snapshot_id))


@contextmanager
def _bounded(size: int) -> Iterator[None]:
    """Limit the further bytes that this process may take in the block, on Linux; raises QueryError above that."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_further(size)
    try:
        yield
    except MemoryError as error:
        raise QueryError(
            f"the rows need more than {size / 1e9:.1f} GB of memory; select fewer columns, or shorter values"
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _tables(home: Home, snapshot: str | None) -> sql.TableFiles:
    """Return the tables of a snapshot, by default the published one; before the first, those of the sources."""
    snapshots.refresh_snapshot(home, snapshot)
    manifest = snapshots.published_snapshot(home) if snapshot is None else snapshots.snapshot_named(home, snapshot)
    if manifest is not None or home.scope:
        return sql.published_tables(CheckedGeneration.of(home, snapshots.required(home, manifest).snapshot_id))
    found = _newest_tables(home)
    sys.stderr.write(
        "Nothing is published yet: these are the newest tables of each source; entities and relations are empty.\n"
    )
    return found


def _newest_tables(home: Home) -> sql.TableFiles:
    """Return the newest tables of each source; those of one that was removed are not known any more."""
    refresh(home)
    found = sql.unpublished_tables(home)
    if not found:
        snapshots.require_published(home)  # which says what to do
    return found


def _first(rows: pa.RecordBatchReader) -> tuple[Iterable[Sequence[object]], int]:
    """Return the first rows, and the number of the others, which are not held."""
    shown: list[Sequence[object]] = []
    found = 0
    for batch in rows:
        shown += _rows_of(batch.slice(0, _SHOWN_ROWS - len(shown)))
        found += batch.num_rows
    return shown, found - len(shown)


def _rows_of(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """Yield rows by position, since a statement may give two columns one name."""
    return zip(*map(_cells, batch.schema.names, batch.columns), strict=True)


def _cells(name: str, column: pa.Array) -> list[object]:
    """Return the cells of a column; raises QueryError for dates and times that Python cannot represent."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError) as error:
        raise QueryError(
            f"the column {name} has a date or time that cannot be shown, such as infinity; cast it to VARCHAR"
        ) from error
