"""What Dagster loads: every asset, job, resource and automation of this code location.

Reading settings and prompt files is all that happens at load.
"""

from datetime import timedelta

import dagster as dg

from assets import ASSETS, CHECKS
from assets.jobs import JOBS
from assets.schedules import FRESHNESS, schedules
from assets.sensors import SENSORS, conditions
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.namespace import Namespace
from lightrag_dagster.settings import Settings, load_settings
from resources import build_resources

_VECTORS = ("chunk_vectors", "entity_vectors", "relation_vectors")
_FRESH = ("raw_documents", "knowledge_base")


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return the code location under given settings."""
    versions, following = Recipes.of(settings).by_asset(), conditions(settings)
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
    jobs = namespace.jobs(JOBS)
    return dg.Definitions(
        assets=namespace.assets(dg.map_asset_specs(complete, ASSETS)),
        asset_checks=namespace.assets(CHECKS),
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
