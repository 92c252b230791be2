"""The prefix of a namespace, on a small code location that has one definition of each kind."""

from collections.abc import Iterator

import dagster as dg
import pytest

from lightrag_dagster.namespace import Namespace

SOURCES = dg.DynamicPartitionsDefinition(name="source")


@dg.asset(partitions_def=SOURCES, group_name="ingestion", deps=["upstream"])
def read(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"source": context.partition_key})


@dg.multi_asset(
    specs=[dg.AssetSpec(name, deps=[read], group_name="merged") for name in ("left", "right")],
    check_specs=[dg.AssetCheckSpec("sound", asset="left")],
)
def merge(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    for name in ("left", "right"):
        yield dg.MaterializeResult(asset_key=context.asset_key_for_output(name))
    yield dg.AssetCheckResult(check_name="sound", asset_key=context.asset_key_for_output("left"), passed=True)


@dg.asset_check(asset="right", name="whole")
def whole() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


INGEST = dg.define_asset_job("ingest", selection=[read])
PUBLISH = dg.define_asset_job("publish", selection=["left", "right"])
nightly = dg.ScheduleDefinition(name="nightly", job=INGEST, cron_schedule="0 2 * * *")
downstream = dg.AutomationConditionSensorDefinition("downstream", target=dg.AssetSelection.groups("merged"))


@dg.sensor(name="publish_accepted", job=PUBLISH)
def publish_accepted(context: dg.SensorEvaluationContext) -> dg.RunRequest:
    return dg.RunRequest()


@dg.run_failure_sensor(name="record_failures")
def record_failures(context: dg.RunFailureSensorContext) -> None:
    pass


def location(name: str) -> dg.Definitions:
    namespace = Namespace(name)
    jobs = namespace.jobs([INGEST, PUBLISH])
    return dg.Definitions(
        assets=namespace.assets([read, merge, whole]),
        jobs=list(jobs.values()),
        schedules=namespace.schedules([nightly], jobs),
        sensors=namespace.sensors([publish_accepted, downstream, record_failures], jobs),
    )


def test_everything_is_prefixed() -> None:
    definitions = location("finance")
    graph = definitions.resolve_asset_graph()
    assert {key.to_user_string() for key in graph.materializable_asset_keys} == {
        "finance/read",
        "finance/left",
        "finance/right",
    }
    assert {key.to_user_string() for key in graph.get(dg.AssetKey(["finance", "read"])).parent_keys} == {"upstream"}
    assert {(key.asset_key.to_user_string(), key.name) for key in graph.asset_check_keys} == {
        ("finance/left", "sound"),
        ("finance/right", "whole"),
    }
    groups = {spec.group_name for spec in definitions.resolve_all_asset_specs() if len(spec.key.path) > 1}
    assert groups == {"finance_ingestion", "finance_merged"}
    assert definitions.resolve_schedule_def("finance_nightly").job_name == "finance_ingest"
    repository = definitions.get_repository_def()
    assert {sensor.name for sensor in repository.sensor_defs} == {
        "finance_publish_accepted",
        "finance_downstream",
        "finance_record_failures",
    }
    assert repository.get_sensor_def("finance_publish_accepted").job_name == "finance_publish"


def test_jobs_run_under_the_prefix(instance: dg.DagsterInstance) -> None:
    definitions = location("finance")
    instance.add_dynamic_partitions("finance_source", ["notes"])
    assert definitions.resolve_job_def("finance_ingest").execute_in_process(partition_key="notes", instance=instance)
    ended = definitions.resolve_job_def("finance_publish").execute_in_process(instance=instance)
    assert {
        event.asset_key.to_user_string() for event in ended.get_asset_materialization_events() if event.asset_key
    } == {
        "finance/left",
        "finance/right",
    }
    assert [check.passed for check in ended.get_asset_check_evaluations()] == [True, True]


def test_an_empty_namespace_changes_nothing() -> None:
    definitions = location("")
    assert definitions.assets == [read, merge, whole]
    assert definitions.jobs == [INGEST, PUBLISH]
    assert definitions.sensors == [publish_accepted, downstream, record_failures]


@pytest.mark.parametrize("name", ["", "finance"])
def test_names(name: str) -> None:
    assert Namespace(name).named("source") == ("finance_source" if name else "source")
