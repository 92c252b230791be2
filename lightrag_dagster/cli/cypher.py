"""`cypher`: Cypher over the graph of the published snapshot."""

import csv
import json
import sys
from contextlib import closing

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.indexes.cypher.reader import CypherReader, require_graph
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import refresh_snapshot, require_current


def run_cypher(console: Console, query: str, output: str, limit: int) -> None:
    """Print the first `limit` rows of a query; `csv` and `json` go to standard output alone.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the query is wrong or refused, exceeds a bound, or ended its process.
        StoreError: the graph is not built yet, or damaged.
    """
    home = Home.of(load_settings())
    refresh_snapshot(home)
    with closing(CypherReader(require_graph(Generation(home, require_current(home).snapshot_id)))) as graph:
        found = graph.query(query, limit=limit)
    columns, rows = found.columns, found.rows
    if output == "csv":
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    elif output == "json":
        sys.stdout.write(json.dumps(rows, ensure_ascii=False, default=str) + "\n")
    else:
        texts = {name for name in columns if any(isinstance(row[name], (str, list, dict)) for row in rows)}
        print_table(console, columns, [tuple(row.values()) for row in rows], wrap=texts)
    if found.more:
        Console(stderr=True, markup=False).print(
            f"There are more than {limit} rows; --limit says how many are printed."
        )
