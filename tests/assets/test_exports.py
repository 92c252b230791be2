"""`exports`: the formats of the setting, of the published snapshot; without any, nothing."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from lightrag_dagster.exports.written import GRAPH_ALONE
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.storage.years import Years


def materialised(settings: Settings, instance: dg.DagsterInstance) -> tuple[str | None, Mapping[str, Any]]:
    """Materialise the asset as the UI does; return its data version and metadata."""
    definitions = build_definitions(settings)
    job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={dg.AssetKey("exports")})
    result = job.execute_in_process(instance=instance)
    (event,) = result.get_asset_materialization_events()
    made = event.step_materialization_data.materialization
    return (made.tags or {}).get("dagster/data_version"), {name: one.value for name, one in made.metadata.items()}


def test_without_formats_it_says_so_and_writes_nothing(years: Years, instance: dg.DagsterInstance) -> None:
    settings, _ = years(1)
    assert settings.exports == ()
    _, metadata = materialised(settings, instance)
    assert metadata == {"exported": "nothing is exported: the setting `exports` names no format"}
    assert not Home.of(settings).exports.exists()


def test_rows_bytes_and_notes_of_each_format(years: Years, instance: dg.DagsterInstance) -> None:
    settings, (snapshot,) = years(1)
    settings = settings.changed(exports=("graphml", "neo4j"))
    version, metadata = materialised(settings, instance)
    latest = Home.of(settings).exports / "latest"
    assert version == f"{snapshot}-graphml-neo4j"
    assert metadata["snapshot_id"] == snapshot
    assert metadata["graphml/bytes"] == (latest / "graphml/graph.graphml").stat().st_size
    counts = [metadata[f"neo4j/rows/{name}.csv"] for name in ("entities", "relations")]
    assert metadata["graphml/rows/graph.graphml"] == sum(counts) > 4
    assert metadata["neo4j/notes"] == metadata["graphml/notes"] == [GRAPH_ALONE]
    assert metadata["neo4j/place"] == str(latest / "neo4j")
    assert {path.name for path in latest.iterdir()} == {"graphml", "neo4j"}
    again = materialised(settings, instance)
    assert again[0] == version


def test_no_job_has_it(settings: Settings) -> None:
    jobs = build_definitions(settings).resolve_all_job_defs()
    named = [job for job in jobs if not job.name.startswith("__")]
    assert len(named) > 4
    assert not [job.name for job in named if dg.AssetKey("exports") in job.asset_layer.selected_asset_keys]
