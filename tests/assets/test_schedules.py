"""Schedules, evaluated as the daemon does, over a real home."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.schedules import MORNING_DEADLINE, MORNING_SLACK, schedules
from lightrag_dagster.definitions import build_definitions
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import ExtractionSettings, Settings, SourceSettings
from resources import LightRAG
from tests.support import FLOOD, RIVER, run, write_source


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance on disk, since a schedule opens its own."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as stored:
        yield stored


def nightly(instance: dg.DagsterInstance, settings: Settings) -> list[str | None]:
    """Return the sources for which the schedule asks for a run."""
    context = dg.build_schedule_context(
        instance, scheduled_execution_time=datetime.now(UTC), resources={"lightrag": LightRAG(settings)}
    )
    requests = schedules(settings)[0].evaluate_tick(context).run_requests or []
    assert all("backfill" not in str(one.run_config) for one in requests)
    return [one.partition_key for one in requests]


def test_only_what_is_pending_is_ingested(instance: dg.DagsterInstance, settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "office", {"flood.md": FLOOD})
    assert nightly(instance, settings) == []  # they are no partitions yet
    instance.add_dynamic_partitions("source", ["notes", "office"])
    assert nightly(instance, settings) == ["notes", "office"]

    run(settings)

    assert nightly(instance, settings) == []
    write_source(settings, "office", {"flood.md": f"{FLOOD} It rained."})
    assert nightly(instance, settings) == ["office"]
    # Outdated rows wait for a backfill.
    german = settings.model_copy(update={"extraction": ExtractionSettings(language="German")})
    assert nightly(instance, german) == ["office"]


def test_a_source_that_cannot_be_listed_fails_by_itself(
    instance: dg.DagsterInstance, settings: Settings, tmp_path: Path
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    run(settings)
    missing = settings.model_copy(update={"named_sources": {"absent": SourceSettings(uri=str(tmp_path / "absent"))}})
    instance.add_dynamic_partitions("source", ["absent", "notes"])
    assert nightly(instance, missing) == ["absent"]


def test_the_night_begins_when_the_setting_says(settings: Settings) -> None:
    later = settings.model_copy(update={"nightly": "30 3 * * *"})
    assert schedules(later)[0].cron_schedule == "30 3 * * *"
    with pytest.raises(SettingsError, match="nightly: 'at three' is no cron line"):
        schedules(settings.model_copy(update={"nightly": "at three"}))


def test_a_morning_without_a_report_shows(settings: Settings) -> None:
    specs = {spec.key.to_user_string(): spec for spec in build_definitions(settings).resolve_all_asset_specs()}
    policies = {name: spec.freshness_policy for name, spec in specs.items() if spec.freshness_policy}
    assert list(policies) == ["drift_report"]
    assert policies["drift_report"] == dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)
