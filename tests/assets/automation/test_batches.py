"""Extraction by batch through Dagster: no run waits, the sensor resumes, and nothing half-done is published."""

import dagster as dg
import pytest

from assets.automation.batches import batches
from assets.metadata import COMMAND_TAG, KEEP_DRIFTED
from lightrag_dagster.definitions import build_definitions
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.acceptance import accepted
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback
from tests.loopback_batches import Fate
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, write_source


@pytest.fixture
def settings(settings: Settings, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    llm = {"provider": "openai", "mode": "batch"}
    return load_settings(home=settings.home, sources=settings.sources, llm=llm)


def requested(instance: dg.DagsterInstance, settings: Settings) -> list[dg.RunRequest]:
    """Return the runs that the sensor asks for."""
    made = batches(dg.build_sensor_context(instance), settings=settings)
    return made if isinstance(made, list) else []


def ingest(instance: dg.DagsterInstance, settings: Settings, **tags: str) -> dg.ExecuteInProcessResult:
    job = build_definitions(settings).resolve_job_def("ingest")
    return job.execute_in_process(instance=instance, partition_key="notes", tags=tags)


def steps(result: dg.ExecuteInProcessResult, kind: dg.DagsterEventType) -> set[str]:
    return {event.step_key for event in result.all_events if event.event_type is kind and event.step_key}


def test_runs_submit_and_end_and_the_sensor_resumes_them(
    instance: dg.DagsterInstance, settings: Settings, loopback: Loopback
) -> None:
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    assert requested(instance, settings) == []

    first = ingest(instance, settings)

    assert first.success
    assert steps(first, dg.DagsterEventType.STEP_SKIPPED) == {"mentions"}
    assert not first.asset_materializations_for_node("extractions")
    assert accepted(Home(settings.home), "notes") is None
    runs = []
    for _ in range(10):
        for request in requested(instance, settings):
            assert request.partition_key == "notes"
            assert request.tags[COMMAND_TAG] == first.run_id
            runs.append(ingest(instance, settings, **request.tags))
    assert len(runs) == 2  # what was gleaned was a batch of its own
    assert len({request.run_key for request in requested(instance, settings)}) == 0
    (materialised,) = runs[-1].asset_materializations_for_node("extractions")
    assert materialised.metadata["answers_cost_usd"].value == pytest.approx(2 * 0.0000111)
    record = accepted(Home(settings.home), "notes")
    assert record is not None
    assert len(loopback.batches.asked()) == 2


@pytest.mark.parametrize("tags", [{}, KEEP_DRIFTED], ids=["backfill", "nightly"])
def test_the_sensor_continues_a_backfill_as_a_backfill(
    instance: dg.DagsterInstance, settings: Settings, tags: dict[str, str]
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    first = ingest(instance, settings, **tags)
    (request,) = requested(instance, settings)
    kept = {name: value for name, value in request.tags.items() if name.startswith("lightrag/")}
    assert kept == {COMMAND_TAG: first.run_id} | tags


def test_what_was_accepted_stays_until_the_batch_is_done(
    instance: dg.DagsterInstance, settings: Settings, loopback: Loopback
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    for _ in range(3):
        ingest(instance, settings)
    before = accepted(Home(settings.home), "notes")
    assert before is not None

    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    ingest(instance, settings)

    assert accepted(Home(settings.home), "notes") == before
    for _ in range(2):
        ingest(instance, settings)
    assert accepted(Home(settings.home), "notes") != before


def test_real_time_does_not_buy_what_a_batch_is_about_to_answer(
    instance: dg.DagsterInstance, settings: Settings, loopback: Loopback
) -> None:
    loopback.batches.spoil = lambda batch: Fate(looks=1)
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    ingest(instance, settings)
    real_time = settings.model_copy(update={"llm": settings.llm.model_copy(update={"mode": "realtime"})})
    with pytest.raises(SettingsError, match="source 'notes' waits for batches"):
        ingest(instance, real_time)
    for _ in range(4):
        ingest(instance, settings)
    assert ingest(instance, real_time).success
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions")]
