"""`cypher`: Cypher over the graph of a snapshot."""

from contextlib import closing

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.rows import Form, print_rows
from lightrag_dagster.indexes.cypher import CypherReader, require_graph
from lightrag_dagster.query.arguments import text
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.checks import CheckedGeneration
from lightrag_dagster.storage.snapshots.snapshots import find_snapshot


def run_cypher(console: Console, query: str, form: Form, limit: int, snapshot: str | None = None) -> None:
    """Print the first `limit` rows of a query on a snapshot, by default the published one.

    Those of other forms than a table go to standard output alone. The graph of an older snapshot is made again in the
    cache.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the query is wrong or refused, exceeds a bound, or ended its process.
        QueryError: there is no such snapshot.
        StoreError: its graph is left out, not built yet or damaged.
    """
    settings = load_settings()
    home = Home.of(settings)
    graph = require_graph(CheckedGeneration.of(home, find_snapshot(home, snapshot).snapshot_id), settings)
    with closing(CypherReader(graph)) as reader:
        found = reader.query(text(query, "the Cypher"), limit=limit)
    rows = [tuple(row.values()) for row in found.rows]
    texts = {name for name in found.columns if any(isinstance(row[name], (str, list, dict)) for row in found.rows)}
    print_rows(console, form, found.columns, rows, wrap=texts)
    if found.more:
        terminal.console(stderr=True).print(f"There are more than {limit} rows; --limit says how many are printed.")
