"""A small published snapshot, made by the real engine without Dagster."""

from collections.abc import Mapping
from functools import partial

from lightrag_dagster.models.providers import open_chat_model, open_embedder, settings_of
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.graph import build_graph, build_published_graph
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import Source, find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.records import VECTOR_TABLES, Manifest
from lightrag_dagster.storage.tables.acceptance import Acceptance
from lightrag_dagster.storage.tables.source_tables import SourceTables

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


def publish_sources(settings: Settings, sources: Mapping[str, Mapping[str, str]] = SOURCES) -> Manifest:
    """Write the sources, ingest and merge them, and publish."""
    for source, files in sources.items():
        for path, text in files.items():
            file = settings.sources / source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    for one in find_sources(settings).values():
        assert ingest(one, SourceTables(Home.of(settings)), Recipes.of(settings)).accepted
    return publish_accepted(settings)


def publish_accepted(settings: Settings, *, backfill: bool = False, account: Account | None = None) -> Manifest:
    """Merge what is accepted, publish, and build the graph of what is published."""
    manifest = publish_first(settings, backfill=backfill, account=account)
    build_published_graph(Home.of(settings))
    return manifest


def publish_first(settings: Settings, *, backfill: bool = False, account: Account | None = None) -> Manifest:
    """Merge what is accepted, and publish; a large graph is still to be built."""
    home, recipes = Home.of(settings), Recipes.of(settings)
    merge_sources(recipes, lambda: open_chat_model(settings.llm, home, "summarise", account), backfill=backfill)
    for table in VECTOR_TABLES:
        embed(
            recipes,
            table,
            lambda one, engine: open_embedder(settings_of(one, settings.embedding), home, account, engine),
        )
    build_graph(settings)
    return publish_newest(recipes)


def ingest(source: Source, tables: SourceTables, recipes: Recipes, account: Account | None = None) -> Acceptance:
    """Make every table of one source, in real time."""
    name, llm = source.name, recipes.settings.llm
    read_source(source, tables, recipes)
    chunk_source(name, tables, recipes)
    extract_source(name, tables, recipes, partial(open_chat_model, llm, tables.home, "extract", account))
    return parse_and_accept(name, tables, recipes)[1]
