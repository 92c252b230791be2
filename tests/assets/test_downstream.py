"""The assets made of the published snapshot on request, materialised as the UI does."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lightrag_dagster.exports.written import GRAPH_ALONE
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.report.writing import UNFILTERED
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.storage.years import Years
from tests.support import RIVER, build, published, write_source


def materialised(name: str, settings: Settings, instance: dg.DagsterInstance) -> tuple[str | None, Mapping[str, Any]]:
    """Materialise an asset; return its data version and metadata."""
    definitions = build_definitions(settings)
    job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={dg.AssetKey(name)})
    result = job.execute_in_process(instance=instance)
    (event,) = result.get_asset_materialization_events()
    made = event.step_materialization_data.materialization
    return (made.tags or {}).get("dagster/data_version"), {name: one.value for name, one in made.metadata.items()}


@pytest.mark.long
def test_the_counts_of_pairs_are_shown_and_the_rows_stored(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "more.md": "Marta Lindquist maintains the gauge of the weir."})
    build(settings)
    _, metadata = materialised("duplicate_candidates", settings, instance)
    stored = SourceTables(Home(settings.home)).require("duplicate_candidates", ALL_SOURCES)
    assert stored.inputs["knowledge_base"] == published(settings).snapshot_id
    assert metadata["dagster/row_count"] == stored.rows > 0
    assert [value for key, value in metadata.items() if key.startswith("pairs/")] == [stored.rows]
    assert {"cut", "outdone", "dropped_unlikely"} <= set(metadata)


@pytest.mark.long
def test_rows_bytes_and_notes_of_each_format(years: Years, instance: dg.DagsterInstance) -> None:
    settings, (snapshot,) = years(1)
    settings = settings.changed(exports=("graphml", "neo4j"))
    version, metadata = materialised("exports", settings, instance)
    latest = Home.of(settings).exports / "latest"
    assert version == f"{snapshot}-graphml-neo4j"
    assert metadata["snapshot_id"] == snapshot
    assert metadata["graphml/bytes"] == (latest / "graphml/graph.graphml").stat().st_size
    counts = [metadata[f"neo4j/rows/{name}.csv"] for name in ("entities", "relations")]
    assert metadata["graphml/rows/graph.graphml"] == sum(counts) > 4
    assert metadata["neo4j/notes"] == metadata["graphml/notes"] == [GRAPH_ALONE]
    assert metadata["neo4j/place"] == str(latest / "neo4j")
    assert {path.name for path in latest.iterdir()} == {"graphml", "neo4j"}
    again = materialised("exports", settings, instance)
    assert again[0] == version


def test_a_report_has_its_place_numbers_and_a_picture(years: Years, instance: dg.DagsterInstance) -> None:
    settings, (snapshot,) = years(1)
    version, metadata = materialised("graph_report", settings, instance)
    assert version == snapshot
    place = Home.of(settings).exports / "latest" / "report" / "report.html"
    assert metadata["place"] == str(place)
    assert place.stat().st_size < metadata["bytes"]
    assert metadata["drawn_nodes"] == metadata["entities"] > 3
    assert metadata["drawn_edges"] == metadata["relations"] > 1
    assert metadata["notes"][0] == UNFILTERED
    picture = re.fullmatch(r"!\[The graph\]\(data:image/svg\+xml;base64,(.*)\)", metadata["picture"])
    assert picture
    assert base64.b64decode(picture[1]) == Path(place.with_name("picture.svg")).read_bytes()


@pytest.mark.parametrize("asset", ["exports", "graph_report"])
def test_no_job_has_it(settings: Settings, asset: str) -> None:
    jobs = build_definitions(settings.changed(exports=("graphml",))).resolve_all_job_defs()
    named = [job for job in jobs if not job.name.startswith("__")]
    assert len(named) > 3
    assert not [job.name for job in named if dg.AssetKey(asset) in job.asset_layer.selected_asset_keys]
