"""`communities`: groups of entities that have more to do with each other than with others."""

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.indexes.views import open_tables
from lightrag_dagster.pipeline.communities import communities
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published


def show_communities(console: Console, *, level: int, limit: int, as_json: bool) -> None:
    """Print the communities of the published graph of one level, the largest first.

    Raises:
        NoSnapshotError: nothing is published yet.
        SettingsError: the extra `graph` is not installed.
        StoreError: a table of the snapshot is missing or damaged.
    """
    home = Home.of(load_settings())
    refresh(home)
    found = communities(home)
    generation = Generation(home, require_published(home).snapshot_id)
    if as_json:
        print_json({"snapshot_id": generation.id, "communities": found.to_pylist()})
        return
    with open_tables(generation, ["entities"]) as connection:
        connection.register("communities", found)
        chosen = {"level": level, "members": 5}
        rows = connection.execute(read_sql(__package__, "sql/communities"), chosen).fetchall()
        alone = connection.sql("SELECT count(*) FROM entities WHERE degree = 0").fetchall()[0][0]
    shown = [(name, f"{size:,}", f"{relations:,}", ", ".join(members)) for name, size, relations, members in rows]
    if shown:
        print_table(console, ("words", "entities", "relations", "first"), shown[:limit], wrap={"words", "first"})
    parts = max(found["level"].to_pylist(), default=0)
    deeper = f" Parts of large ones are at --level 1 to {parts}." if parts and not level else ""
    more = f" {len(shown) - limit:,} more; --limit prints more, --json all of them." if len(shown) > limit else ""
    console.print(f"{len(shown):,} communities; {alone:,} entities without a relation are in none.{deeper}{more}")
