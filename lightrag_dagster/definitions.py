"""What Dagster loads: every asset, job, resource and automation of this code location.

Reading settings and prompt files is all that happens at load.
"""

import dagster as dg

from assets import ASSETS, CHECKS
from assets.jobs import JOBS
from assets.schedules import FRESHNESS, schedules
from assets.sensors import SENSORS, conditions
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.memory import give_memory_back
from lightrag_dagster.settings import Settings, load_settings
from resources import build_resources


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return the code location under given settings."""
    give_memory_back()
    versions, following = Recipes.of(settings).by_asset(), conditions(settings)

    def complete(spec: dg.AssetSpec) -> dg.AssetSpec:
        name = spec.key.to_user_string()
        return spec.replace_attributes(
            code_version=versions[name],
            automation_condition=following.get(name),
            freshness_policy=FRESHNESS.get(name),
        )

    return dg.Definitions(
        assets=dg.map_asset_specs(complete, ASSETS),
        asset_checks=CHECKS,
        jobs=JOBS,
        schedules=schedules(settings),
        sensors=SENSORS,
        resources=build_resources(settings),
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the code location under the settings of this environment."""
    return build_definitions(load_settings())
