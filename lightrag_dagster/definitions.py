"""What Dagster loads: every asset, job, resource and automation of this code location.

Reading settings and prompt files is all that happens at load.
"""

from datetime import timedelta

import dagster as dg

from assets import ASSETS, INGESTION, PUBLICATION
from assets.automation import FRESHNESS, SENSORS, conditions, schedules
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.namespace import Namespace
from lightrag_dagster.settings import Settings, load_settings
from resources import build_resources

INGEST = dg.define_asset_job(
    "ingest", selection=INGESTION, description="Read, chunk, extract and parse one source (one partition)."
)
PUBLISH = dg.define_asset_job(
    "publish", selection=PUBLICATION, description="Merge all accepted sources, build the stores, check and publish."
)
ASK = dg.define_asset_job("ask", selection=["answers"], description="Ask the published snapshot every question.")
EVALUATE = dg.define_asset_job(
    "evaluate",
    selection=["retrieval_evaluation"],
    description="Measure how well each mode finds what answers the filed questions.",
)

REPORT = dg.define_asset_job("report", selection=["drift_report"], description="Report what is pending or has drifted.")

_VECTORS = ("chunk_vectors", "entity_vectors", "relation_vectors")
_FRESH = ("raw_documents", "knowledge_base")


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return the code location under given settings."""
    versions, following = Versions.of(settings).by_asset(), conditions(settings)
    providers = {"extractions": settings.llm.provider} | dict.fromkeys(_VECTORS, settings.embedding.provider)

    def complete(spec: dg.AssetSpec) -> dg.AssetSpec:
        name = spec.key.to_user_string()
        return spec.replace_attributes(
            code_version=versions[name],
            automation_condition=following.get(name),
            freshness_policy=FRESHNESS.get(name) or _freshness(name, settings),
            owners=settings.dagster.owners,
            kinds=(spec.kinds - {"openai"}) | ({providers[name]} - {"offline"} if name in providers else set()),
        )

    namespace = Namespace(settings.namespace)
    jobs = namespace.jobs([INGEST, PUBLISH, ASK, EVALUATE, REPORT])
    return dg.Definitions(
        assets=namespace.assets(dg.map_asset_specs(complete, ASSETS)),
        jobs=list(jobs.values()),
        schedules=namespace.schedules(schedules(settings), jobs),
        sensors=namespace.sensors(SENSORS, jobs),
        resources=build_resources(settings),
        executor=dg.in_process_executor,
    )


def _freshness(name: str, settings: Settings) -> dg.FreshnessPolicy | None:
    """Return by when an asset must have been made; by default never, since what does not change is not made again."""
    hours = settings.dagster.fresh_hours
    if hours is None or name not in _FRESH:
        return None
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=hours))


@dg.definitions
def defs() -> dg.Definitions:
    """Return the code location under the settings of this environment."""
    return build_definitions(load_settings())
