"""`sql`: DuckDB over the published tables."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.errors import NoSnapshotError
from lightrag_dagster.indexes.sql import TableFiles, open_tables, published_tables, results, unpublished_tables
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage import bucket
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot, refresh_snapshot

_SHOWN_ROWS = 100


def run_sql(console: Console, statements: str, output: str, *, allow_external: bool) -> None:
    """Print the rows of every statement; `csv` and `json` go to standard output alone.

    Several results are separated by an empty line; as JSON each is an array on a line of its own.

    Raises:
        NoSnapshotError: no source was ever read.
        QueryError: DuckDB refuses a statement; what those before it returned is printed.
    """
    with open_tables(_tables(Home.of(load_settings())), allow_external=allow_external) as connection:
        for number, rows in enumerate(results(connection, statements)):
            if number and output != "json":
                sys.stdout.write("\n")
            if output == "csv":
                _write_csv(rows)
            elif output == "json":
                named = rows.rename_columns(_distinct(rows.column_names))
                sys.stdout.write(json.dumps(named.to_pylist(), ensure_ascii=False, default=str) + "\n")
            else:
                _print(console, rows)
            sys.stdout.flush()


def _tables(home: Home) -> TableFiles:
    """Return the published tables, or before the first publication what was read so far."""
    refresh_snapshot(home)
    manifest = current_snapshot(home)
    if manifest is not None:
        return published_tables(Generation(home, manifest.snapshot_id))
    bucket.refresh(home)
    found = unpublished_tables(home)
    if not found:
        raise NoSnapshotError(f"nothing has been published in {home.name} yet; run `lightrag-dagster run` first")
    sys.stderr.write(
        "Nothing is published yet: these are the newest tables of each source; entities and relations are empty.\n"
    )
    return found


def _print(console: Console, rows: pa.Table) -> None:
    numbers = {field.name for field in rows.schema if pa.types.is_primitive(field.type)}
    text = [name for name in rows.column_names if name not in numbers]
    print_table(console, rows.column_names, list(_values(rows.slice(0, _SHOWN_ROWS))), wrap=text)
    if rows.num_rows > _SHOWN_ROWS:
        console.print(f"{rows.num_rows - _SHOWN_ROWS} more rows; use --format csv for all of them.")


def _write_csv(rows: pa.Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.column_names)
    for batch in rows.to_batches():
        writer.writerows(_values(batch))


def _values(rows: pa.Table | pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """Yield rows by position, since a statement may give two columns one name."""
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _distinct(names: Sequence[str]) -> list[str]:
    """Number repeated names as DuckDB does: a, a_1."""
    return [f"{name}_{names[:at].count(name)}" if name in names[:at] else name for at, name in enumerate(names)]
