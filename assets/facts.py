"""`readings`, `facts` and `merged_facts`: what passes read of each source, and the facts of all of them, merged."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.column_lineage import column_lineage
from lightrag_dagster.assets.declared import LLM_POOL, all_of, asset, multi_asset
from lightrag_dagster.assets.ingestion import in_own_run
from lightrag_dagster.assets.metadata import materialised, table_metadata
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.storage.files.atomic import count_rows, read_first
from lightrag_dagster.storage.snapshots.generations import newest_merged
from lightrag_dagster.storage.tables.source_tables import FIRST_ROWS
from lightrag_dagster.view_schemas import DESCRIPTIONS

readings = asset(
    name="readings",
    partitioned=True,
    deps=["chunks"],
    group_name="ingestion",
    pool=LLM_POOL,
    kinds={"openai", "parquet"},
    skippable=True,
    description=DESCRIPTIONS["readings"],
)(in_own_run("readings"))

facts = multi_asset(
    "facts",
    {name: DESCRIPTIONS[name] for name in ("facts", "read_facts")},
    partitioned=True,
    deps=["readings"],
    group_name="ingestion",
    kinds={"python", "parquet"},
)(in_own_run("facts"))


@multi_asset(
    "merged_facts",
    {name: DESCRIPTIONS[name] for name in MERGED_PASS_TABLES},
    deps=["entities", *all_of("facts")],
    group_name="knowledge_base",
    kinds={"duckdb", "parquet"},
)
def merged_facts(
    context: dg.AssetExecutionContext, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Report the facts that the merge made beside the entities."""
    generation = newest_merged(lightrag.home)
    record, namespace = generation.record(), Namespace(lightrag.settings.namespace)
    for name, schema in MERGED_PASS_TABLES.items():
        first, rows = schema.empty_table(), 0
        for path in generation.table_files(name):  # one, or none before a pass was merged
            first, rows = read_first(path, FIRST_ROWS), count_rows(path)
        metadata = table_metadata(first, rows, generation=generation.id, **column_lineage(name, namespace))
        version, recipe = record.tables.get(name, "none"), record.inputs.recipe
        yield materialised(version, metadata, recipe=recipe, asset=namespace.key(name))
