"""A small published snapshot, made by the real engine without Dagster."""

import asyncio
from collections.abc import Mapping

from lightrag_dagster.build.ingest import chunk_source, extract_source, parse_and_accept, read_source
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.indexes.adjacency import build_adjacency
from lightrag_dagster.indexes.embedding import build_vectors, save_corpus_state
from lightrag_dagster.indexes.graph import build_graph
from lightrag_dagster.indexes.integrity import findings
from lightrag_dagster.indexes.views import build_views
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import Source, find_sources
from lightrag_dagster.stages.merging.inputs import merge_inputs
from lightrag_dagster.stages.merging.merge import merge
from lightrag_dagster.storage.acceptance import wanted_inputs
from lightrag_dagster.storage.generations import ADJACENCY, Generation, start
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import VECTOR_TABLES, GenerationInputs, Manifest
from lightrag_dagster.storage.publication import publish
from lightrag_dagster.storage.tables import SourceTables

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
    return asyncio.run(_publish(settings))


async def _publish(settings: Settings) -> Manifest:
    documents = settings.documents.model_copy(update={"accept_deletes": True})
    settings = settings.model_copy(update={"documents": documents})
    home, versions = Home(settings.home), Recipes.of(settings)
    for source in find_sources(settings).values():
        _ingest(source, versions)
    inputs = wanted_inputs(home, list(find_sources(settings)), versions.generation)
    generation = start(home, inputs)
    await _merge(generation, inputs, settings, versions)
    async with open_embedder(settings.embedding, home) as embedder:
        for name in VECTOR_TABLES:
            await build_vectors(generation, name, embedder, settings.embedding)
        save_corpus_state(generation, embedder)
    build_graph(generation)
    build_adjacency(
        generation.path(ADJACENCY),
        generation.read_table("entities"),
        generation.read_table("relations"),
        generation.table_files("chunks"),
    )
    build_views(generation)
    return publish(home, generation, findings(generation))


def _ingest(source: Source, recipes: Recipes) -> None:
    home, name = Home(recipes.settings.home), source.name
    tables = SourceTables(home)
    read_source(source, tables, recipes)
    chunk_source(name, tables, recipes)
    extract_source(name, tables, recipes, lambda: open_chat_model(recipes.settings.llm, home, "extract"))
    _, acceptance = parse_and_accept(name, tables, recipes)
    assert acceptance.accepted


async def _merge(generation: Generation, inputs: GenerationInputs, settings: Settings, versions: Recipes) -> None:
    tokenizer = load_tokenizer(settings.chunking.encoding)
    async with open_chat_model(settings.llm, generation.home) as model:
        merged = await merge(
            merge_inputs(generation.home, inputs),
            scratch=generation.home.generation(generation.id),
            extraction_fingerprint=versions.extractions,
            embedder_identity=versions.embedder,
            model=model,
            prompts=versions.prompts,
            settings=settings.merging,
            count_tokens=tokenizer.counts,
            max_concurrency=settings.llm.max_concurrency,
        )
    generation.write_tables(merged.tables)
