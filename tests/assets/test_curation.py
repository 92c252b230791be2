"""Decisions as an asset that is observed: its version, the lineage to the merge, and its checks."""

from collections.abc import Sequence

import dagster as dg
import pytest

from lightrag_dagster.assets import INGESTION, PUBLICATION
from lightrag_dagster.assets.checks import build_checks
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import in_force
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings, load_settings
from tests.support import RIVER, write_source

CURATION = dg.AssetKey("curation")
RENAME = Decision(action="rename", names=("Lindra Weir",), into="The Weir")


def run(settings: Settings, instance: dg.DagsterInstance, names: Sequence[str]) -> dg.ExecuteInProcessResult:
    definitions = dg.Definitions(
        assets=[declared.within(Namespace()) for declared in (*INGESTION, *PUBLICATION)],
        asset_checks=build_checks(Namespace())[-7:-1],
        resources={"lightrag": LightRAG(settings)},
        jobs=[dg.define_asset_job("chosen", selection=list(names))],
    )
    return definitions.resolve_job_def("chosen").execute_in_process(instance=instance, raise_on_error=False)


def ingest(settings: Settings, instance: dg.DagsterInstance) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    dg.materialize(
        [declared.within(Namespace()) for declared in INGESTION],
        partition_key="notes",
        instance=instance,
        resources={"lightrag": LightRAG(settings)},
    )


PUBLISH = [name for declared in PUBLICATION for name in declared.assets]


def observed(instance: dg.DagsterInstance) -> dg.AssetObservation:
    [record] = instance.fetch_observations(CURATION, limit=1).records
    assert record.asset_observation is not None
    return record.asset_observation


@pytest.mark.long
def test_its_version_is_the_hash_of_the_decisions_in_force_and_the_merge_says_which_it_read(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    ingest(settings, instance)
    assert run(settings, instance, PUBLISH).success
    assert observed(instance).tags["dagster/data_version"] == "no decisions"

    take(settings, [RENAME])
    result = run(settings, instance, PUBLISH)
    assert result.success
    version = in_force(settings).version
    assert observed(instance).tags["dagster/data_version"] == version
    assert {name: value.value for name, value in observed(instance).metadata.items()} == {
        "decisions": 1,
        "decisions/rename": 1,
    }
    [merged, *_] = result.asset_materializations_for_node("merge")
    assert merged.tags is not None
    assert merged.tags["dagster/input_data_version/curation"] == version
    checks = {one.check_name: (one.passed, one.severity) for one in result.get_asset_check_evaluations()}
    assert checks["hold_together"] == (True, dg.AssetCheckSeverity.ERROR)
    passed, severity = checks["decisions_match"]
    assert (passed, severity) == (False, dg.AssetCheckSeverity.WARN), "no document has the name"


def test_decisions_that_cannot_all_hold_stop_the_merge_and_are_named(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    ingest(settings, instance)
    take(settings, [RENAME])
    path = settings.home.parent / "decisions.yaml"
    path.write_text("- {rename: Lindra Weir, into: Another Weir}\n")
    broken = load_settings(home=settings.home, sources=settings.sources, curation=path)
    result = run(broken, instance, PUBLISH)
    assert not result.success
    [check] = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed) == ("hold_together", False)
    assert check.description is not None
    assert "yaml:1" in check.description
    assert "decision 1" in check.description
    assert [event.step_key for event in result.all_events if event.is_step_success] == ["curation"]


@pytest.mark.parametrize("namespace", ["", "finance"])
def test_lineage_leads_from_decisions_to_entities(settings: Settings, namespace: str) -> None:
    chosen = load_settings(home=settings.home, sources=settings.sources, namespace=namespace)
    graph = build_definitions(chosen).resolve_asset_graph()
    key = Namespace(namespace).key
    assert key("curation") in graph.get(key("entities")).parent_keys
    assert graph.get(key("curation")).is_observable
