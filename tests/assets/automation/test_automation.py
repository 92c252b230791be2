"""Schedules and sensors, evaluated as the daemon does, over a real home."""

import shutil
from pathlib import Path

import dagster as dg
import pytest

from assets.automation.ingestion import nightly_schedule, stale_sources
from assets.automation.publication import publish_accepted
from assets.automation.sources import source_partitions
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import Settings, SourceSettings
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

    # A source that comes back is merged again at once, as it was accepted last.
    write_source(settings, "office", {"flood.md": FLOOD})
    synchronise(instance, settings)
    assert "office" in instance.get_dynamic_partitions("source")
    assert publishes(instance, settings)


def test_a_source_that_cannot_be_listed_holds_up_no_other(
    instance: dg.DagsterInstance, settings: Settings, tmp_path: Path
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    missing = settings.model_copy(update={"named_sources": {"absent": SourceSettings(uri=str(tmp_path / "absent"))}})
    synchronise(instance, missing)
    assert set(instance.get_dynamic_partitions("source")) == {"absent", "notes"}
    assert stale_sources(missing, {"absent", "notes"}) == ["notes"]


def test_the_night_begins_when_the_setting_says() -> None:
    assert nightly_schedule("30 3 * * *").cron_schedule == "30 3 * * *"
    with pytest.raises(SettingsError, match="nightly: 'at three' is no cron line"):
        nightly_schedule("at three")


def test_partitions_follow_the_sources(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes", "office"}
    shutil.rmtree(settings.sources / "office")
    synchronise(instance, settings)
    assert set(instance.get_dynamic_partitions("source")) == {"notes"}
