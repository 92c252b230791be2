"""Two knowledge bases in one Dagster deployment: each finds and changes only what is its own."""

from pathlib import Path

import dagster as dg
import pytest

from assets.sensors import publish_accepted, source_partitions
from lightrag_dagster.definitions import build_definitions
from lightrag_dagster.namespace import Namespace
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot
from resources import LightRAG
from tests.assets.runs import pretend
from tests.support import FLOOD, RIVER, run, write_source


@pytest.fixture
def deployment(tmp_path: Path) -> tuple[Settings, Settings]:
    """Settings of two knowledge bases with one source each, offline."""
    finance, contracts = (
        load_settings(home=tmp_path / name / "home", sources=tmp_path / name / "sources", namespace=name)
        for name in ("finance", "contracts")
    )
    write_source(finance, "notes", {"river.md": RIVER})
    write_source(contracts, "office", {"flood.md": FLOOD})
    return finance, contracts


def evaluate(settings: Settings, instance: dg.DagsterInstance, sensor: str) -> dg.SensorResult | None:
    """Evaluate a sensor of the code location, and do to the partitions what it asks for."""
    definitions = build_definitions(settings)
    definition = definitions.resolve_sensor_def(Namespace(settings.namespace).named(sensor))
    context = dg.build_sensor_context(
        instance, repository_def=definitions.get_repository_def(), definitions=definitions
    )
    return definition.evaluate_tick(context)
