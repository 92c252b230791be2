"""`graph_report`: the page of the published snapshot, with its place, numbers and a picture as metadata."""

import base64
import re
from pathlib import Path
from typing import Any

import dagster as dg

from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.report.writing import UNFILTERED
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from tests.storage.years import Years


def test_place_numbers_and_a_picture(years: Years, instance: dg.DagsterInstance) -> None:
    settings, (snapshot,) = years(1)
    definitions = build_definitions(settings)
    job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={dg.AssetKey("graph_report")})
    result = job.execute_in_process(instance=instance)
    (event,) = result.get_asset_materialization_events()
    made = event.step_materialization_data.materialization
    assert (made.tags or {})["dagster/data_version"] == snapshot
    metadata: dict[str, Any] = {name: one.value for name, one in made.metadata.items()}
    place = Home.of(settings).exports / "latest" / "report" / "report.html"
    assert metadata["place"] == str(place)
    assert place.stat().st_size < metadata["bytes"]
    assert metadata["drawn_nodes"] == metadata["entities"] > 3
    assert metadata["drawn_edges"] == metadata["relations"] > 1
    assert metadata["notes"][0] == UNFILTERED
    picture = re.fullmatch(r"!\[The graph\]\(data:image/svg\+xml;base64,(.*)\)", metadata["picture"])
    assert picture
    assert base64.b64decode(picture[1]) == Path(place.with_name("picture.svg")).read_bytes()


def test_no_job_has_it(settings: Settings) -> None:
    jobs = build_definitions(settings).resolve_all_job_defs()
    named = [job for job in jobs if not job.name.startswith("__")]
    assert not [job.name for job in named if dg.AssetKey("graph_report") in job.asset_layer.selected_asset_keys]
