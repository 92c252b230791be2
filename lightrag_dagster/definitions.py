"""What Dagster loads: every asset, job, resource and automation of this code location.

Reading settings and prompt files is all that happens at load.
"""

import dagster as dg

from assets import ASSETS, INGESTION, PUBLICATION
from assets.automation import FRESHNESS, SENSORS, conditions, schedules
from lightrag_dagster.build.versions import Versions
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


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return the code location under given settings."""
    versions, following = Versions.of(settings).by_asset(), conditions(settings)

    def complete(spec: dg.AssetSpec) -> dg.AssetSpec:
        name = spec.key.to_user_string()
        return spec.replace_attributes(
            code_version=versions[name],
            automation_condition=following.get(name),
            freshness_policy=FRESHNESS.get(name),
        )

    return dg.Definitions(
        assets=dg.map_asset_specs(complete, ASSETS),
        jobs=[INGEST, PUBLISH, ASK, EVALUATE, REPORT],
        schedules=schedules(settings),
        sensors=SENSORS,
        resources=build_resources(settings),
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the code location under the settings of this environment."""
    return build_definitions(load_settings())
