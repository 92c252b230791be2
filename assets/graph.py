"""`knowledge_graph`: the Kùzu database, and the adjacency arrays that retrieval reads."""

import dagster as dg

from assets.metadata import OWNERS, WRITER_POOL, made_by, stopwatch
from lightrag_dagster.storage.generations import ADJACENCY
from resources import GenerationsResource


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
    owners=OWNERS,
    description="Document → Chunk → Entity and Entity — Entity, written once and verified; and the same as arrays.",
)
def knowledge_graph(generations: GenerationsResource) -> dg.MaterializeResult:
    """Build the graph of the newest generation."""
    from lightrag_dagster.indexes.adjacency import build_adjacency
    from lightrag_dagster.indexes.graph import build_graph

    with stopwatch() as watch, generations.building():
        generation = generations.newest()
        counts = build_graph(generation)
        if not generation.has(ADJACENCY):
            build_adjacency(
                generation.path(ADJACENCY),
                generation.read_table("entities"),
                generation.read_table("relations"),
                generation.table_files("chunks"),
            )
    return dg.MaterializeResult(
        data_version=dg.DataVersion(generation.id),
        tags=made_by(generation.inputs().fingerprint),
        metadata={**counts.model_dump(), "generation": generation.id, "seconds": watch.seconds},
    )
