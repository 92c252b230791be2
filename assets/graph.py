"""`knowledge_graph`: the adjacency arrays for retrieval, and the Kùzu database unless it is large.

`published_graph`: the Kùzu database of the published snapshot, if it is large.
"""

import dagster as dg

from lightrag_dagster.assets.declared import WRITER_POOL, all_of, asset
from lightrag_dagster.assets.metadata import materialised, stopwatch
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.pipeline.graph import build_graph, build_published_graph
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.snapshots.generations import GRAPH_RECORD


@asset(
    deps=[*all_of("raw_documents", "chunks"), *MERGED_TABLES],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"kuzu"},
    description="Document → Chunk → Entity and Entity — Entity as arrays, which questions read; and as a database for "
    "Cypher, written once and verified, unless it has more than two million rows.",
)
def knowledge_graph(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Build the graph of the newest generation."""
    looks = Looks(lightrag.home.ledger)
    with stopwatch() as watch, logged(context, lightrag), looks.noting(KNOWLEDGE_BASE):
        generation = build_graph(lightrag.settings)
    later = "built after publication" if lightrag.settings.builds_graph else "left out"
    database = "built" if generation.has(GRAPH_RECORD) else later
    metadata = {"generation": generation.id, "database": database, "seconds": watch.seconds}
    return materialised(generation.id, metadata, recipe=generation.inputs().recipe)


@asset(
    deps=["knowledge_base"],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"kuzu"},
    description="The graph database of the published snapshot, built here if it was too large to be built before; "
    "until then questions are answered, and Cypher is not.",
)
def published_graph(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Build the graph database of the published snapshot unless it is built."""
    with stopwatch() as watch, Looks(lightrag.home.ledger).noting(KNOWLEDGE_BASE):
        snapshot = build_published_graph(lightrag.home)
    metadata = {"snapshot_id": snapshot.snapshot_id, "seconds": watch.seconds}
    return materialised(snapshot.snapshot_id, metadata, recipe=snapshot.inputs.recipe)
