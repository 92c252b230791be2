"""`entities`, `relations`, facts and the evidence of all: the merge over all accepted sources."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dagster as dg
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lightrag_dagster.assets.column_lineage import column_lineage
from lightrag_dagster.assets.declared import LLM_POOL, all_of, multi_asset
from lightrag_dagster.assets.metadata import BuildConfig, Metadata, account_of, materialised, stopwatch, table_metadata
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.pending import accept_pending
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.files.atomic import count_rows, read_first, read_parquet
from lightrag_dagster.storage.snapshots.generations import newest_merged
from lightrag_dagster.storage.tables.source_tables import FIRST_ROWS
from lightrag_dagster.view_schemas import DESCRIPTIONS


@multi_asset(
    "merge",
    {name: DESCRIPTIONS[name] for name in MERGED_TABLES},
    deps=[*all_of("chunks", "extractions", "entity_mentions", "relation_mentions"), "curation"],
    group_name="knowledge_base",
    pool=LLM_POOL,
    kinds={"duckdb", "parquet"},
)
def merged(
    context: dg.AssetExecutionContext, config: BuildConfig, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Merge the accepted version of every configured source into a new generation."""
    account = account_of(context, lightrag.settings)
    looks = Looks(lightrag.home.ledger)
    with stopwatch() as watch, logged(context, lightrag), looks.noting(KNOWLEDGE_BASE):
        accept_pending(lightrag.settings)
        report = merge_sources(
            lightrag.recipes,
            partial(open_chat_model, lightrag.settings.llm, lightrag.home, "summarise", account),
            backfill=config.backfill,
        )
    record = report.generation.record()
    namespace = Namespace(lightrag.settings.namespace)
    decided, usage = record.curation, report.usage
    of_all = {
        "summary_calls": usage.calls,
        "summary_input_tokens": usage.input_tokens,
        "summary_output_tokens": usage.output_tokens,
        "summary_cost_usd": usage.cost_usd,
        "summaries_failed": record.failed_summaries,
        "names_unmatched": len(decided.unmatched),
        "decisions_idle": len(decided.idle),
        "mentions_undecided": decided.undecided,
        "types_mapped": decided.mapped,
        "types_disallowed": decided.disallowed,
    }
    for name in MERGED_TABLES:
        [path] = report.generation.table_files(name)
        metadata = table_metadata(
            read_first(path, FIRST_ROWS),
            count_rows(path),
            seconds=watch.seconds,
            generation=report.generation.id,
            merged=report.merged,
            **(of_all if name == "entities" else {}),  # numbers of the whole merge, which sums should count once
            **_capped(path),
            **column_lineage(name, namespace),
        )
        yield materialised(record.tables[name], metadata, recipe=record.inputs.recipe, asset=namespace.key(name))


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


def _capped(path: Path) -> Metadata:
    """Return the number of rows of `entities` or `relations` with capped lists; none for evidence."""
    if "capped" not in pq.read_schema(path).names:
        return {}
    return {"capped": pc.sum(read_parquet(path, ["capped"])["capped"], min_count=0).as_py()}
