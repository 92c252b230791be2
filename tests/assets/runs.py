"""Runs and ticks that tests record in a Dagster instance without executing them."""

from collections.abc import Set as AbstractSet

import dagster as dg
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster_shared.error import SerializableErrorInfo


def pretend(
    instance: dg.DagsterInstance,
    status: dg.DagsterRunStatus,
    tags: dict[str, str] | None = None,
    *,
    job: str = "nothing",
    assets: AbstractSet[str] = frozenset(),
    steps: AbstractSet[str] = frozenset(),
    launched: bool = False,
) -> str:
    """Record a run of a status; `launched` as by the daemon, with `assets` as by the UI for chosen assets.

    A run of a whole job has the `steps` of that.
    """
    if assets:
        made = [dg.asset(key=name.split("/"))(lambda: None) for name in assets]
        definition = dg.Definitions(made).resolve_implicit_global_asset_job_def()
        assert definition.name == job
    else:
        definition = dg.GraphDefinition(name=job, node_defs=[_nothing(step) for step in steps]).to_job()
    location = RegisteredCodeLocationOrigin("lightrag_dagster")
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(location, "__repository__"), job) if launched else None
    run = instance.create_run_for_job(
        definition,
        status=status,
        tags=tags or {},
        remote_job_origin=origin,
        asset_selection=frozenset(dg.AssetKey(name.split("/")) for name in assets) or None,
    )
    return run.run_id


def _nothing(step: str) -> dg.OpDefinition:
    @dg.op(name=step)
    def nothing() -> None: ...

    return nothing


def tick(instance: dg.DagsterInstance, sensor: str, at: float, *, failed: bool = False) -> None:
    """Record that the daemon asked a sensor, which may have failed; in seconds since 1970."""
    location = RegisteredCodeLocationOrigin("lightrag_dagster")
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(location, "__repository__"), sensor)
    state = InstigatorState(origin, InstigatorType.SENSOR, InstigatorStatus.DECLARED_IN_CODE, SensorInstigatorData())
    if not [one for one in instance.all_instigator_state() if one.name == sensor]:
        instance.add_instigator_state(state)
    instance.create_tick(
        TickData(
            state.instigator_origin_id,
            sensor,
            InstigatorType.SENSOR,
            TickStatus.FAILURE if failed else TickStatus.SKIPPED,
            at,
            error=SerializableErrorInfo("it cannot be loaded", [], None) if failed else None,
            selector_id=state.selector_id,
        )
    )
