"""Schedules and sensors, evaluated as the daemon does, over a real home."""

import shutil

import dagster as dg

from lightrag_dagster.automation.ingestion import stale_sources
from lightrag_dagster.automation.publication import publish_accepted
from lightrag_dagster.automation.sources import source_partitions
from lightrag_dagster.settings import Settings
from tests.support import FLOOD, RIVER, run, write_source


def publishes(instance: dg.DagsterInstance, settings: Settings) -> bool:
    """Say whether the sensor asks for a publication."""
    made = publish_accepted(dg.build_sensor_context(instance), settings=settings)
    return isinstance(made, dg.RunRequest)


def synchronise(instance: dg.DagsterInstance, settings: Settings) -> None:
    """Do to the partitions what the sensor asks for."""
    result = source_partitions(dg.build_sensor_context(instance), settings=settings)
    assert isinstance(result, dg.SensorResult)
    for request in result.dynamic_partitions_requests or []:
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            instance.add_dynamic_partitions("source", list(request.partition_keys))
        else:
            for key in request.partition_keys:
                instance.delete_dynamic_partition("source", key)


def test_only_what_is_stale_is_ingested(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    assert stale_sources(settings, set(instance.get_dynamic_partitions("source"))) == []
    synchronise(instance, settings)
    assert stale_sources(settings, set(instance.get_dynamic_partitions("source"))) == ["notes", "office"]

    run(settings)

    assert stale_sources(settings, set(instance.get_dynamic_partitions("source"))) == []
    write_source(settings, "office", {"flood.md": f"{FLOOD} It rained."})
    assert stale_sources(settings, set(instance.get_dynamic_partitions("source"))) == ["office"]


def test_publication_follows_what_is_accepted(instance: dg.DagsterInstance, settings: Settings) -> None:
    assert not publishes(instance, settings)
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    run(settings)
    assert not publishes(instance, settings)

    shutil.rmtree(settings.sources / "office")

    assert publishes(instance, settings)
    run(settings)
    assert not publishes(instance, settings)


def test_partitions_follow_the_sources(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes", "office"}
    shutil.rmtree(settings.sources / "office")
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes"}
