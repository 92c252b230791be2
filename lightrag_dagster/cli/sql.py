"""`sql`: DuckDB over the published tables."""

import csv
import json
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from lightrag_dagster.indexes.views import query_views
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.generations import VIEWS, Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import require_current

_SHOWN_ROWS = 100


def run_sql(console: Console, statement: str, output: str) -> None:
    """Print the rows of a statement; `csv` and `json` go to standard output alone.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: DuckDB refuses the statement.
    """
    home = Home(load_settings().home)
    rows = query_views(Generation(home, require_current(home).snapshot_id).path(VIEWS), statement)
    if output == "csv":
        _write_csv(rows)
    elif output == "json":
        named = rows.rename_columns(_distinct(rows.column_names))
        sys.stdout.write(json.dumps(named.to_pylist(), ensure_ascii=False, default=str) + "\n")
    else:
        console.print(_rich_table(rows))
        if rows.num_rows > _SHOWN_ROWS:
            console.print(f"{rows.num_rows - _SHOWN_ROWS} more rows; use --format csv for all of them.")


def _rich_table(rows: pa.Table) -> Table:
    table = Table()
    for name in rows.column_names:
        table.add_column(name, overflow="fold")
    for row in _values(rows.slice(0, _SHOWN_ROWS)):
        table.add_row(*("" if value is None else str(value) for value in row))
    return table


def _write_csv(rows: pa.Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.column_names)
    for batch in rows.to_batches():
        writer.writerows(_values(batch))


def _values(rows: pa.Table | pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """Yield rows by position, since a statement may give two columns one name."""
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _distinct(names: Sequence[str]) -> list[str]:
    """Number the names that come again, as DuckDB does: a, a_1."""
    return [f"{name}_{names[:at].count(name)}" if name in names[:at] else name for at, name in enumerate(names)]
