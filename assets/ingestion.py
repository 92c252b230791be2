"""The assets of a source, one partition each; their steps are shown alike in a run of one source and of many."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from lightrag_dagster.assets.declared import LLM_POOL, Declared, asset, multi_asset
from lightrag_dagster.assets.metadata import IngestConfig, account_of, ingested, is_backfill, stopwatch, together
from lightrag_dagster.assets.namespace import Compute, Namespace
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.assets.upstream import look_upstream
from lightrag_dagster.fact_schemas import kind_of
from lightrag_dagster.pipeline.extractions import Waiting
from lightrag_dagster.pipeline.ingest import STEPS, SourceIngestion, last_step
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.view_schemas import DESCRIPTIONS


def in_own_run(step: str) -> Compute:
    """Return the function of a step in the run of a partition.

    While a source waits for batches at the provider it yields nothing: the rest of the run and its checks are skipped,
    the source's last accepted tables stay, and the sensor `batches` starts it again.
    """

    def made(
        context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
    ) -> Iterator[dg.MaterializeResult]:
        settings, source = lightrag.settings, context.partition_key
        backfill = is_backfill(context, config, settings)
        if backfill and settings.gold.gate:
            _pass_gate(context, settings, step)
        with logged(context, lightrag):
            found = run_step(step, lightrag.ingestion(source, account_of(context, settings, source), backfill=backfill))
        if isinstance(found, dg.AssetObservation):
            context.log_event(found)
        else:
            yield from found

    return made


def _pass_gate(context: dg.AssetExecutionContext, settings: Settings, step: str) -> None:
    """Let a backfill pass before its first step, or the first that asks about chunks; raises as `try_gold`."""
    first, chosen = Namespace(settings.namespace).key("raw_documents"), context.job_def.asset_layer.selected_asset_keys
    if step == "raw_documents" or (step in ("extractions", "readings") and first not in chosen):
        from lightrag_dagster.evaluation.gold.gate import let_through, try_gold

        compared = try_gold(settings, run=account_of(context, settings).run)
        if isinstance(compared, str):
            context.log.warning(f"{compared}; going on")
        else:
            let_through(settings, compared)


def run_step(step: str, ingestion: SourceIngestion) -> list[dg.MaterializeResult] | dg.AssetObservation:
    """Do a step, and return what Dagster shows of its tables, or of the batches that the source waits for.

    The home notes why it failed, or that the source is done.
    """
    recipes, tables = ingestion.recipes, ingestion.tables
    namespace = Namespace(recipes.settings.namespace)
    looks = Looks(tables.home.ledger)
    with stopwatch() as watch, looks.noting(ingestion.source, backfill=tables.candidate):
        reports = STEPS[step](ingestion)
    if step == last_step(recipes, ingestion.source):
        looks.good([ingestion.source], backfill=tables.candidate)
        if tables.candidate:  # why an earlier run failed is no longer the cause
            looks.continued(ingestion.source)
    if isinstance(reports, Waiting):
        looks.continued(ingestion.source, backfill=tables.candidate)
        batches = {"batches": sorted(reports.batches)}
        waits = "extractions" if step == "extractions" else "readings"
        return dg.AssetObservation(namespace.key(waits), partition=ingestion.source, metadata=batches)
    return together([ingested(one, recipes, watch, namespace.key(kind_of(one.version.table))) for one in reports])


@asset(
    partitioned=True,
    group_name="ingestion",
    kinds={"python", "parquet"},
    description="One row a document: path, text, content hash and status. Failures and duplicates are rows too.",
)
def raw_documents(
    context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
) -> Iterator[dg.MaterializeResult]:
    """Read the source as it is now."""
    look_upstream(context.instance, lightrag.settings, [context.partition_key], STEP_SECONDS)
    yield from in_own_run("raw_documents")(context, config, lightrag)


def _step(name: str, described: Mapping[str, str], after: str, *, asks: bool = False) -> Declared:
    """Declare a step of a source that follows another; of one that `asks` a model, batches may be awaited."""
    spec: dict[str, Any] = {"pool": LLM_POOL, "skippable": True} if asks else {}
    kinds = {"openai" if asks else "python", "parquet"}
    declare = multi_asset(name, described, partitioned=True, deps=[after], group_name="ingestion", kinds=kinds, **spec)
    return declare(in_own_run(name))


_CHUNKS = {"chunks": "One row a chunk position: content-addressed id, text, tokens, character span and heading."}
_ASKED = {"extractions": "One row a distinct chunk: the raw responses of every round, status, tokens and cost."}
_PARSED = {
    "entity_mentions": "Entities as each chunk names them; parsing again costs no call.",
    "relation_mentions": "Relations as each chunk states them; parsing again costs no call.",
    "parsed": "Numbers of rows of each chunk's answers that became mentions or could not be used, and the reason.",
}

chunks = _step("chunks", _CHUNKS, after="raw_documents")
extractions = _step("extractions", _ASKED, after="chunks", asks=True)
mentions = _step("mentions", _PARSED, after="extractions")
readings = _step("readings", {"readings": DESCRIPTIONS["readings"]}, after="chunks", asks=True)
facts = _step("facts", {name: DESCRIPTIONS[name] for name in ("facts", "read_facts")}, after="readings")
