"""The definitions that Dagster loads: every asset, job, resource and automation of this code location.

Reading settings and prompt files is all that happens at load.
"""

from dataclasses import replace
from datetime import timedelta
from functools import cache

import dagster as dg

from lightrag_dagster.assets import ASSETS
from lightrag_dagster.assets.checks import build_checks
from lightrag_dagster.assets.declared import LLM_POOL, all_of
from lightrag_dagster.assets.jobs import build_jobs, is_wanted
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.schedules import FRESHNESS, build_schedules
from lightrag_dagster.assets.sensors import CONDITIONS, build_sensors
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.fact_schemas import PASS_TABLES
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.settings.sections import ExecutorName
from lightrag_dagster.storage.home import bucket_uri
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.generations import TABLES


def build_definitions(settings: Settings, *, pools: bool = True) -> dg.Definitions:
    """Return the assets, jobs and automation of one knowledge base; the jobs have their own executor.

    Without `pools`, for a command, no step is in one.
    Assets, jobs and sensors for questions, exports and batches are left out where the settings name none.
    """
    recipes = Recipes.of(settings)
    versions = recipes.code_versions()
    in_turn = settings.gold.gate or recipes.describes_figures
    providers = dict.fromkeys(("extractions", "readings"), settings.llm.provider) | dict.fromkeys(
        VECTOR_TABLES, settings.embedding.provider
    )
    namespace, fresh = Namespace(settings.namespace), _freshness(settings)

    def complete(spec: dg.AssetSpec) -> dg.AssetSpec:
        name = spec.key.path[-1]
        if name == "raw_documents":
            spec = spec.replace_attributes(deps=_upstream(settings))
        if name in MERGED_TABLES and settings.has_passes:
            spec = spec.replace_attributes(deps=[*spec.deps, *all_of(namespace.key("facts"))])
        return spec.replace_attributes(
            code_version=versions.get(name),  # `curation` runs no code of ours on its content
            automation_condition=CONDITIONS.get(name),
            freshness_policy=fresh.get(name),
            metadata={**spec.metadata, **_place(name, settings)},
            kinds=(spec.kinds - {"openai"}) | ({providers[name]} & {"openai"} if name in providers else set()),
        )

    jobs = build_jobs(settings, executor(settings.dagster.executor))
    assets = _assets(namespace, pools, in_turn)
    return dg.Definitions(
        assets=[assets[name].map_asset_specs(complete) for name in assets if is_wanted(name, settings)],
        asset_checks=_checks(namespace, settings.has_passes, tuple(sorted(settings.scopes))),
        jobs=list(jobs.values()),
        schedules=build_schedules(settings, jobs),
        sensors=build_sensors(settings, jobs),
        resources={namespace.resource: LightRAG(settings)},
    )


@cache
def _assets(namespace: Namespace, pools: bool, in_turn: bool) -> dict[str, dg.AssetsDefinition]:
    """Return the assets by name; sources are read `in_turn` where that asks a language model."""
    chosen = {one.name: LLM_POOL if in_turn and one.name == "raw_documents" else one.pool for one in ASSETS if pools}
    return {one.name: replace(one, pool=chosen.get(one.name)).within(namespace) for one in ASSETS}


_checks = cache(build_checks)


def _place(name: str, settings: Settings) -> dict[str, str]:
    """Return the metadata by which catalogues tell a table: its name for SQL, and the address of its files."""
    if name not in TABLES:
        return {}
    home = bucket_uri(settings.home) or settings.home.expanduser().absolute().as_uri()
    folder = f"tables/{name}" if name in SOURCE_TABLES else "tables" if name in PASS_TABLES else "generations"
    return {"dagster/table_name": ".".join(filter(None, (settings.namespace, name))), "dagster/uri": f"{home}/{folder}"}


def _upstream(settings: Settings) -> list[dg.AssetDep]:
    """Return the assets that named sources read. Each is read whole, even if it is partitioned."""
    keys = {named.asset for named in settings.named_sources.values() if named.asset}
    return all_of(*map(dg.AssetKey.from_user_string, sorted(keys)))


def executor(name: ExecutorName) -> dg.ExecutorDefinition:
    """Return the executor that a setting names; raises SettingsError when its package is not installed."""
    if name == "in_process":
        return dg.in_process_executor
    if name == "multiprocess":
        return dg.multiprocess_executor
    try:
        from dagster_k8s import k8s_job_executor  # It brings the client of Kubernetes, which takes a second to import.
    except ModuleNotFoundError as error:
        raise SettingsError(
            "setting dagster.executor: kubernetes needs the extra `deploy`; pip install 'lightrag-dagster[deploy]'"
        ) from error
    return k8s_job_executor


def _freshness(settings: Settings) -> dict[str, dg.FreshnessPolicy]:
    """Return the freshness policies of assets; most have none, since an asset without changes is not made again."""
    reported = FRESHNESS if is_wanted("morning", settings) else {}
    if settings.dagster.fresh_hours is None:
        return reported
    window = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=settings.dagster.fresh_hours))
    return reported | dict.fromkeys(("raw_documents", "knowledge_base"), window)


@dg.definitions
def defs() -> dg.Definitions:
    """Return the code location under the settings of this environment; all of its runs have the same executor."""
    settings = load_settings()
    return dg.Definitions.merge(
        build_definitions(settings), dg.Definitions(executor=executor(settings.dagster.executor))
    )
