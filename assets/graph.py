"""`knowledge_graph`: the Kùzu database, and the adjacency arrays that retrieval reads."""

import dagster as dg

from assets.metadata import WRITER_POOL, made_by, stopwatch
from lightrag_dagster.build.generation import build_graph
from resources import LightRAG


@dg.asset(
    deps=[
        dg.AssetDep("raw_documents", partition_mapping=dg.AllPartitionMapping()),
        dg.AssetDep("chunks", partition_mapping=dg.AllPartitionMapping()),
        "entities",
        "relations",
        "entity_evidence",
    ],
    group_name="knowledge_base",
    pool=WRITER_POOL,
    kinds={"kuzu"},
    description="Document → Chunk → Entity and Entity — Entity, written once and verified; and the same as arrays.",
)
def knowledge_graph(lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
    """Build the graph of the newest generation."""
    with stopwatch() as watch:
        generation, counts = build_graph(lightrag.home)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(generation.id),
        tags=made_by(generation.inputs().code_version),
        metadata={**counts.model_dump(), "generation": generation.id, "seconds": watch.seconds},
    )
