"""`cypher`: Cypher over the graph of the published snapshot."""

from contextlib import closing

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.rows import Form, print_rows
from lightrag_dagster.indexes.cypher import CypherReader, require_graph
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.snapshots import refresh_snapshot, require_published


def run_cypher(console: Console, query: str, form: Form, limit: int) -> None:
    """Print the first `limit` rows of a query; those of other forms than a table go to standard output alone.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the query is wrong or refused, exceeds a bound, or ended its process.
        StoreError: the graph is not built yet, or damaged.
    """
    home = Home.of(load_settings())
    refresh_snapshot(home)
    generation = CheckedGeneration.of(home, require_published(home).snapshot_id)
    path = require_graph(generation)
    generation.checks.require([path])
    with closing(CypherReader(path)) as graph:
        found = graph.query(query, limit=limit)
    rows = [tuple(row.values()) for row in found.rows]
    texts = {name for name in found.columns if any(isinstance(row[name], (str, list, dict)) for row in found.rows)}
    print_rows(console, form, found.columns, rows, wrap=texts)
    if found.more:
        terminal.console(stderr=True).print(f"There are more than {limit} rows; --limit says how many are printed.")
