"""`duplicate_candidates`, materialised on a small snapshot."""

from pathlib import Path

import dagster as dg

from lightrag_dagster.assets.duplicate_candidates import duplicate_candidates
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from tests.support import RIVER, build, published, write_source


def test_the_counts_are_shown_and_the_rows_stored(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "more.md": "Marta Lindquist maintains the gauge of the weir."})
    build(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        asset = duplicate_candidates.within(Namespace())
        result = dg.materialize([asset], instance=instance, resources={"lightrag": LightRAG(settings)})
    (event,) = result.asset_materializations_for_node("duplicate_candidates")
    stored = SourceTables(Home(settings.home)).require("duplicate_candidates", ALL_SOURCES)
    assert stored.inputs["knowledge_base"] == published(settings).snapshot_id
    assert event.metadata["dagster/row_count"].value == stored.rows > 0
    shown = [value.value for key, value in event.metadata.items() if key.startswith("pairs/")]
    assert shown == [stored.rows]
    assert {"cut", "outdone", "dropped_unlikely"} <= set(event.metadata)
