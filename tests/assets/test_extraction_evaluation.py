"""`extraction_evaluation` and its check, and the gate of a backfill that Dagster started."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets.evaluation import extraction_evaluation
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.runner import evaluations_pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.purge import _forget_records
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.assets.test_ingestion import ingest
from tests.gold import TEXTS, reads_with, settings_in, write_gold
from tests.loopback import Loopback
from tests.support import build, published, write_source


def materialised(settings: Settings, instance: dg.DagsterInstance) -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    """Return the metadata and the check."""
    result = dg.materialize(
        [extraction_evaluation.within(Namespace())], instance=instance, resources={"lightrag": LightRAG(settings)}
    )
    (event,) = result.asset_materializations_for_node("extraction_evaluation")
    (check,) = result.get_asset_check_evaluations()
    return {name: value.value for name, value in event.metadata.items()}, check


@pytest.mark.long
def test_scores_are_stored_and_drawn_over_time(gold_home: Path, instance: dg.DagsterInstance) -> None:
    settings = settings_in(gold_home)
    assert evaluations_pending(Situation.looking(settings)) == [("evaluate", "extraction_evaluation")]
    metadata, check = materialised(settings, instance)
    assert check.passed
    assert evaluations_pending(Situation.looking(settings)) == []
    assert (metadata["passages"], metadata["gone"], metadata["not_done"]) == (20, [], 0)
    assert metadata["recall/entity"] == pytest.approx(0.9, abs=0.08)
    assert f"| entity | 20 | {metadata['precision/entity']:.3f} |" in metadata["scores"]
    tables = SourceTables(Home.of(settings))
    rows = tables.read("extraction_evaluation", ALL_SOURCES).to_pylist()
    assert {one["grouping"] for one in rows} == {"all", "recipe", "model", "source", "type"}
    materialised(settings, instance)
    assert tables.read("extraction_evaluation", ALL_SOURCES).num_rows == len(rows), "a snapshot counts once"
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:21])
    assert evaluations_pending(Situation.looking(settings)) == [("evaluate", "extraction_evaluation")]

    _forget_records(Home.of(settings), {}, published(settings))

    kept = tables.read("extraction_evaluation", ALL_SOURCES).to_pylist()
    assert {one["grouping"] for one in kept} == {"all", "recipe", "model"}
    assert not {"notes", "person"} & {one["value"] for one in kept}
    assert materialised(settings, instance)[0]["passages"] == 21


@pytest.mark.long
def test_a_low_score_and_a_recipe_worse_than_the_one_before_are_warnings(
    gold_home: Path, instance: dg.DagsterInstance
) -> None:
    settings = settings_in(gold_home)
    _, check = materialised(settings.changed(gold={"least_f1": 0.99}), instance)
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "F1 of entity rows is 0" in str(check.description)
    assert evaluations_pending(Situation.looking(settings)) == [("evaluate", "extraction_evaluation")], "another bound"
    materialised(settings, instance)
    worse = settings_in(gold_home, "bad")
    build(worse, backfill=True)
    _, check = materialised(worse, instance)
    assert not check.passed
    assert "by the recipe before" in str(check.description)
    assert "F1 of entity rows" in str(check.description)
    write_gold(gold_home / "gold" / "people.csv", ["Gone."])
    _, check = materialised(worse, instance)
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "none of the 1 gold passages that are done is a chunk of this home" in str(check.description)


@pytest.mark.long
def test_the_scores_of_a_snapshot_are_of_its_rows_whatever_was_accepted_since(
    gold_home: Path, instance: dg.DagsterInstance
) -> None:
    settings = settings_in(gold_home)
    before, _ = materialised(settings, instance)
    kept = SourceTables(Home.of(settings)).read("extraction_evaluation", ALL_SOURCES)
    worse = settings_in(gold_home, "bad").model_copy(update={"publish": "manual"})
    build(worse, backfill=True)
    since = accepted(Home.of(worse), "notes")
    assert since is not None
    assert since.tables["extractions"] != published(worse).inputs.sources["notes"]["extractions"]
    after, _ = materialised(worse, instance)
    assert after["recall/entity"] == before["recall/entity"]
    assert SourceTables(Home.of(settings)).read("extraction_evaluation", ALL_SOURCES).equals(kept)


def test_a_home_without_gold_has_no_scores_and_none_wait(gold_home: Path, instance: dg.DagsterInstance) -> None:
    settings = settings_in(gold_home).changed(gold={"folder": None})
    assert evaluations_pending(Situation.looking(settings)) == []
    metadata, check = materialised(settings, instance)
    assert (check.passed, metadata["passages"]) == (True, 0)


@pytest.mark.long
def test_a_backfill_of_a_partition_is_stopped_by_the_gate(
    gold_home: Path, loopback: Loopback, instance: dg.DagsterInstance
) -> None:
    worse = settings_in(gold_home, "bad").changed(gold={"gate": True})
    before = accepted(Home.of(worse), "notes")
    result = ingest(worse, instance, "notes", "backfill")
    assert not result.success
    (failure,) = [one for one in result.all_events if one.is_step_failure and one.step_key == "raw_documents"]
    assert "WorseRecipeError: the new recipe is worse: over 20 gold passages" in str(failure.event_specific_data)
    assert len(loopback.requests) == 20
    assert accepted(Home.of(worse), "notes") == before
    assert not SourceTables(Home.of(worse)).has_candidate("notes")
    alone = ingest(worse, instance, "notes", "backfill", asset_selection=[dg.AssetKey("extractions")])
    assert "WorseRecipeError" in str([one.event_specific_data for one in alone.all_events if one.is_step_failure])
    unlabelled = ingest(worse.changed(gold={"folder": None}), instance, "notes", "backfill")
    assert "SettingsError: gold.folder is not set" in str(
        [one.event_specific_data for one in unlabelled.all_events if one.is_step_failure]
    )
    assert ingest(worse, instance, "notes").success, "an ingestion is no backfill"
    assert len(loopback.requests) == 20


def test_sources_are_read_one_after_the_other_where_that_asks_a_model(settings: Settings) -> None:
    asking = settings.changed(llm={"provider": "openai", "model": "m"})
    gated = settings.changed(gold={"gate": True})
    described = asking.changed(documents={"describe_figures": True})
    for given, pools, pool in (
        (asking, True, None),
        (gated, True, "llm"),
        (described, True, "llm"),
        (gated, False, None),  # a command works at one source at a time
    ):
        assets = [
            one for one in build_definitions(given, pools=pools).assets or () if isinstance(one, dg.AssetsDefinition)
        ]
        assert {one.op.name: one.op.pool for one in assets}["raw_documents"] == pool


@pytest.mark.long
def test_a_backfill_of_a_partition_goes_on_where_the_gate_is_open_or_has_too_little(
    gold_home: Path, loopback: Loopback, instance: dg.DagsterInstance
) -> None:
    settings = settings_in(gold_home, "same").changed(gold={"gate": True})
    copy = gold_home / "copy"
    shutil.copytree(gold_home / "home", copy)
    assert ingest(settings, instance, "notes", "backfill").success
    assert len(loopback.requests) == 24
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:2])
    worse = settings_in(gold_home, "bad").changed(gold={"gate": True})
    result = ingest(worse.model_copy(update={"home": copy}), instance, "notes", "backfill")
    assert result.success
    assert len(loopback.requests) == 48


@pytest.mark.long
@pytest.mark.parametrize("order", [("notes", "more"), ("more", "notes")])
def test_partitions_of_a_backfill_that_was_let_through_go_on_in_any_order(
    gold_home: Path, loopback: Loopback, instance: dg.DagsterInstance, order: tuple[str, str]
) -> None:
    others = {path: text.replace("nor", "vor") for path, text in TEXTS.items()}
    write_source(settings_in(gold_home), "more", others)
    build(settings_in(gold_home))
    write_gold(gold_home / "gold" / "more.csv", list(others.values())[:12])
    better, worse = reads_with({"same": (0.0, 0.0)}), reads_with({"same": (0.35, 0.05)})
    loopback.chat = lambda body: (worse if "vor" in body["messages"][-1]["content"] else better)(body)
    settings = settings_in(gold_home, "same").changed(gold={"gate": True})
    for source in order:
        assert ingest(settings, instance, source, "backfill").success, source
