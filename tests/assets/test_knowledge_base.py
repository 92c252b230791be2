"""The published snapshot as an asset: a generation that breaks invariant I5 is not published."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.assets import INGESTION, PUBLICATION
from lightrag_dagster.assets.checks import build_checks
from lightrag_dagster.assets.column_lineage import LINEAGE
from lightrag_dagster.assets.declared import Declared
from lightrag_dagster.assets.graph import knowledge_graph, published_graph
from lightrag_dagster.assets.knowledge_base import gates, knowledge_base, scope_published
from lightrag_dagster.assets.merged import merged
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.vectors import chunk_vectors
from lightrag_dagster.fact_schemas import PASS_TABLES
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import newest_generation
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.support import FLOOD, OFFICE, RIVER, build, write_source


def materialise(
    settings: Settings,
    instance: dg.DagsterInstance,
    chosen: Sequence[Declared],
    source: str | None = None,
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [declared.within(Namespace()) for declared in (*INGESTION, *PUBLICATION)],
        selection=[name for declared in chosen for name in declared.assets],
        partition_key=source,
        instance=instance,
        resources={"lightrag": LightRAG(settings)},
        raise_on_error=False,
    )


@pytest.mark.parametrize("asset", [knowledge_graph, published_graph])
def test_a_graph_that_fails_is_noted_for_the_check_of_status(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, asset: Declared
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    home = Home(settings.home)
    (newest_generation(home).path("graph.kuzu")).unlink(missing_ok=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2, 1, 1))
    result = materialise(settings, instance, [asset])
    error = Looks(home.ledger).read()[KNOWLEDGE_BASE].error
    assert (result.success, error and "make room on the disk" in error) == (False, True)


def test_a_generation_that_lacks_a_step_says_which_asset_comes_first(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    settings.sources.mkdir(exist_ok=True)
    result = materialise(settings, instance, [merged, chunk_vectors, knowledge_base])
    (failed,) = [one.step_failure_data.error for one in result.all_events if one.is_step_failure]
    assert failed is not None
    assert failed.cause is not None
    lacked = "lacks entity_vectors, relation_vectors, knowledge_graph: materialise these first, as the job `publish`"
    assert lacked in failed.cause.message


@pytest.mark.long
def test_a_broken_generation_is_not_published_and_the_snapshot_can_be_checked_again(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    instance.add_dynamic_partitions("source", ["notes"])
    assert materialise(settings, instance, INGESTION, "notes").success
    assert materialise(settings, instance, PUBLICATION[: PUBLICATION.index(knowledge_base)]).success
    home = Home(settings.home)
    whole, path = newest_generation(home).read_table("entities"), newest_generation(home).path("entities.parquet")

    atomic.write_parquet(path, whole.slice(1))
    broken = materialise(settings, instance, [knowledge_base])
    nothing = published_snapshot(home)
    atomic.write_parquet(path, whole)
    mended = materialise(settings, instance, [knowledge_graph, knowledge_base])

    assert not broken.success
    assert nothing is None
    (failure,) = [event for event in broken.all_events if event.is_step_failure]
    assert "a relation ends at an entity that does not exist" in str(failure.event_specific_data)
    assert mended.success
    (graph,) = mended.asset_materializations_for_node("knowledge_graph")
    assert graph.metadata["database"].value == "built"
    assert published_snapshot(home) is not None
    assert checked(settings, instance).passed
    atomic.write_parquet(path, whole.slice(1))
    damaged = checked(settings, instance)
    assert not damaged.passed
    assert "a relation ends at an entity that does not exist" in str(damaged.metadata["findings"].value)


def checked(settings: Settings, instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    """Run the check alone, as a person does in the UI."""
    (check,) = [one for one in build_checks(Namespace()) if one.node_def.name == "knowledge_base_integrity"]
    result = dg.Definitions(
        assets=[declared.within(Namespace()) for declared in (*INGESTION, *PUBLICATION)],
        asset_checks=[check],
        resources={"lightrag": LightRAG(settings)},
        jobs=[dg.define_asset_job("check", dg.AssetSelection.checks(check))],
    )
    (evaluation,) = result.resolve_job_def("check").execute_in_process(instance=instance).get_asset_check_evaluations()
    return evaluation


@pytest.mark.long
def test_a_snapshot_reports_its_cost_and_its_change(settings: Settings, instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("source", ["notes"])
    found: list[dict[str, Any]] = []
    for files_now in ({"river.md": RIVER}, {"river.md": RIVER, "flood.txt": FLOOD}):
        write_source(settings, "notes", files_now)
        ingested = materialise(settings, instance, INGESTION, "notes")
        result = materialise(settings, instance, PUBLICATION)
        assert result.success
        assert not [one for one in ingested.get_asset_materialization_events() if "readings" in str(one.asset_key)]
        made = [*ingested.get_asset_materialization_events(), *result.get_asset_materialization_events()]
        shown = [one.materialization for one in made]
        drawn = {one.asset_key.path[-1] for one in shown if "dagster/column_lineage" in one.metadata}
        assert drawn | PASS_TABLES.keys() == LINEAGE.keys() - {"communities", "duplicate_candidates"}
        of_merge = [
            one.metadata for one in shown if "summary_cost_usd" in one.metadata or "types_mapped" in one.metadata
        ]
        assert [one["summary_output_tokens"].value for one in of_merge] == [0], "shown once, so that sums are true"
        metadata = result.asset_materializations_for_node("knowledge_base")[0].metadata
        found.append({name: value.value for name, value in metadata.items()})
    first, second = found
    assert (first["run_cost_usd"], first["rows/raw_documents"]) == (0.0, 1)
    assert "change/raw_documents" not in first
    assert (second["rows/raw_documents"], second["change/raw_documents"]) == (2, 1)
    assert second["change/entities"] == second["rows/entities"] - first["rows/entities"] > 0
    assert second["previous_snapshot_id"] == first["snapshot_id"]


@pytest.mark.long  # tests/pipeline/test_gates.py is quick
def test_the_check_of_gates_says_why_a_snapshot_waits(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "own.sql").write_text("SELECT path FROM raw_documents WHERE contains(content, 'flood')")
    found = []
    for more, text in (
        ({"publish": "manual"}, RIVER),
        ({"publish": "manual"}, OFFICE),
        ({"publish": "manual", "checks": tmp_path}, FLOOD),
    ):
        gated = settings.changed(**more)
        write_source(gated, "notes", {"a.md": text})
        build(gated)
        result = gates(LightRAG(gated))
        found.append((result.passed, result.severity is dg.AssetCheckSeverity.ERROR))
    assert found == [(True, False), (False, False), (False, True)]
    newest = Situation.looking(settings).newest
    assert newest is not None
    said = f"{newest.snapshot_id} waits for `lightrag-dagster release`: check own.sql: 1 row, as path a.md; documents"
    assert str(result.metadata["reason"].value).startswith(said)


@pytest.mark.long  # tests/cli/test_status.py is quick
def test_the_check_of_a_scope_says_that_it_waits_or_is_empty(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    scoped = settings.changed(scopes={"all": {"sources": ("notes",)}, "board": {"sources": ("boards",)}})
    build(scoped)
    found = {name: scope_published(name)(LightRAG(scoped)) for name in ("all", "board")}
    assert [(one.passed, one.severity) for one in found.values()] == [
        (True, dg.AssetCheckSeverity.ERROR),
        (False, dg.AssetCheckSeverity.WARN),
    ]
    assert found["board"].description == "It shows no document; correct its rule, or `access` of documents."
    wider = settings.changed(scopes={"all": {"sources": ("notes", "boards")}})
    waits = scope_published("all")(LightRAG(wider))
    assert (waits.passed, waits.description) == (False, "the next run publishes it")
