"""A step of one source as Dagster shows it, in a run of its partition alone and in a run of many sources."""

from collections.abc import Iterator

import dagster as dg

from lightrag_dagster.assets.metadata import IngestConfig, account_of, ingested, is_backfill, stopwatch
from lightrag_dagster.assets.namespace import Compute, Namespace
from lightrag_dagster.assets.progress_log import logged
from lightrag_dagster.pipeline.extractions import Waiting
from lightrag_dagster.pipeline.ingest import STEPS, SourceIngestion
from lightrag_dagster.resources import LightRAG


def in_own_run(step: str) -> Compute:
    """Return the function of a step in the run of a partition; it yields nothing while the source waits for batches."""

    def made(
        context: dg.AssetExecutionContext, config: IngestConfig, lightrag: dg.ResourceParam[LightRAG]
    ) -> Iterator[dg.MaterializeResult]:
        settings, source = lightrag.settings, context.partition_key
        backfill = is_backfill(context, config, settings)
        with logged(context, lightrag):
            found = shown(step, lightrag.ingestion(source, account_of(context, settings, source), backfill=backfill))
        if isinstance(found, dg.AssetObservation):
            context.log_event(found)
        else:
            yield from found

    return made


def shown(step: str, ingestion: SourceIngestion) -> list[dg.MaterializeResult] | dg.AssetObservation:
    """Do a step, and return what Dagster shows of its tables, or of the batches that the source waits for."""
    recipes = ingestion.recipes
    namespace = Namespace(recipes.settings.namespace)
    with stopwatch() as watch:
        reports = STEPS[step](ingestion)
    if isinstance(reports, Waiting):
        batches = {"batches": sorted(reports.batches)}
        return dg.AssetObservation(namespace.key("extractions"), partition=ingestion.source, metadata=batches)
    return [ingested(one, recipes, watch, namespace.key(one.version.table)) for one in reports]
