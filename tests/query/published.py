"""A small published snapshot, made by the real engine without Dagster."""

from collections.abc import Mapping

from lightrag_dagster.pipeline.graph import build_published_graph
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest, publish

SOURCES: Mapping[str, Mapping[str, str]] = {
    "archive": {
        "weir.md": "Marta Lindqvist maintains the gauge at Halden Weir. Orrin Instruments built the gauge in 2019.",
        "flood.md": "The flood of March 2021 damaged Halden Weir. Jonas Feld closed Station 14 that night.",
        "shared.md": "Priya Nair repaired the sensor at Station 14.",
    },
    "office": {
        "bergen/notes.txt": "Orrin Instruments opened an office in Bergen. Jonas Feld leads the office in Bergen.",
        "copy.md": "Priya Nair repaired the sensor at Station 14.",
    },
}


def publish_sources(
    settings: Settings, sources: Mapping[str, Mapping[str, str]] = SOURCES, *, graph: bool = False
) -> Manifest:
    """Write the sources, ingest and merge them, and publish; the graph is built with `graph`, as by `support.build`."""
    for source, files in sources.items():
        for path, text in files.items():
            file = settings.sources / source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    for one in find_sources(settings).values():
        assert ingest(one, SourceTables(Home.of(settings)), Recipes.of(settings)).accepted
    manifest = publish_accepted(settings)
    return build_published_graph(Home.of(settings)) if graph else manifest


def publish_accepted(settings: Settings, *, backfill: bool = False, account: Account | None = None) -> Manifest:
    """Merge what is accepted, and publish it without its graph."""
    return publish(Recipes.of(settings), backfill=backfill, account=account, database=False)
