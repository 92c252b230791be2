"""What is downstream follows the content of the knowledge base, not its mere publication."""

from pathlib import Path

import dagster as dg
import pytest

from assets.automation.values import MORNING_DEADLINE, MORNING_SLACK
from lightrag_dagster.definitions import build_definitions
from lightrag_dagster.settings import Settings


def made(instance: dg.DagsterInstance, asset: str, version: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(asset, tags={"dagster/data_version": version}))


@pytest.mark.parametrize("asset", ["answers", "retrieval_evaluation"])
def test_who_asks_questions_follows_the_snapshot(
    settings: Settings, instance: dg.DagsterInstance, tmp_path: Path, asset: str
) -> None:
    file = tmp_path / "questions.yaml"
    definitions = build_definitions(settings.model_copy(update={"questions": file}))
    cursor: dg.AssetDaemonCursor | None = None

    def requested() -> int:
        nonlocal cursor
        result = dg.evaluate_automation_conditions(
            definitions, instance, asset_selection=dg.AssetSelection.assets(asset), cursor=cursor
        )
        cursor = result.cursor
        return result.total_requested

    assert requested() == 0
    made(instance, "knowledge_base", "gen-1")
    assert requested() == 1
    made(instance, asset, "a")
    assert requested() == 0
    made(instance, "knowledge_base", "gen-1")
    assert requested() == 0
    made(instance, "knowledge_base", "gen-2")
    assert requested() == 1


def test_a_morning_without_a_report_shows(settings: Settings) -> None:
    specs = {spec.key.to_user_string(): spec for spec in build_definitions(settings).resolve_all_asset_specs()}
    policies = {name: spec.freshness_policy for name, spec in specs.items() if spec.freshness_policy}
    assert list(policies) == ["drift_report"]
    assert policies["drift_report"] == dg.FreshnessPolicy.cron(MORNING_DEADLINE, MORNING_SLACK)


def test_nothing_else_is_made_by_a_condition(settings: Settings) -> None:
    specs = build_definitions(settings).resolve_all_asset_specs()
    assert [spec.key for spec in specs if spec.automation_condition] == []
