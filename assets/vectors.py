"""`chunk_vectors`, `entity_vectors` and `relation_vectors`: LanceDB tables; only changed rows are embedded."""

from functools import partial

import dagster as dg

from lightrag_dagster.assets.column_lineage import column_lineage
from lightrag_dagster.assets.declared import WRITER_POOL, Declared, all_of, asset
from lightrag_dagster.assets.metadata import account_of, column_schema, materialised, stopwatch
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.models.providers import open_embedder
from lightrag_dagster.pipeline.unread import unread_lines
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import vector_schema
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks


def _vectors(table: str, deps: list[dg.AssetDep | str], description: str) -> Declared:
    """Declare the asset of one vector table."""

    @asset(
        name=table, deps=deps, group_name="knowledge_base", pool=WRITER_POOL, kinds={"lancedb"}, description=description
    )
    def vectors(context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]) -> dg.MaterializeResult:
        account = account_of(context, lightrag.settings)
        looks = Looks(lightrag.home.ledger)
        with stopwatch() as watch, logged(context, lightrag), looks.noting(KNOWLEDGE_BASE):
            report = embed(lightrag.recipes, table, partial(open_embedder, home=lightrag.home, account=account))
        entry, usage = report.table, report.usage
        metadata = {
            "dagster/row_count": entry.rows,
            "dagster/column_schema": column_schema(vector_schema(entry.dimensions)),
            **column_lineage(table, Namespace(lightrag.settings.namespace)),
            "lance_table": entry.table,
            **entry.model_dump(include={"tag", "upserted", "deleted", "dimensions"}),
            "cut_texts": entry.cut,
            "unread_share": entry.unread_share,
            "unread": unread_lines(lightrag.settings, report.vectors).get(table, "nothing"),
            "refused_texts": usage.refused_texts,
            "calls": usage.calls,
            "stored_vectors": usage.stored,
            "input_tokens": usage.input_tokens,
            "cost_usd": usage.cost_usd,
            "seconds": watch.seconds,
        }
        version = f"{report.generation.id}/{entry.table}"
        return materialised(version, metadata, recipe=report.vectors.identity)

    return vectors


chunk_vectors = _vectors(
    "chunk_vectors",
    [*all_of("chunks"), "entities"],
    "One vector a distinct chunk, of its text. Follows `entities`, which begins the generation.",
)
entity_vectors = _vectors("entity_vectors", ["entities"], "One vector an entity, of its name and description.")
relation_vectors = _vectors(
    "relation_vectors", ["relations"], "One vector a relation, of its keywords, endpoints and description."
)
