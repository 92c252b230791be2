"""The report on drift, for people who look at the Dagster UI rather than a terminal."""

import dagster as dg
import pytest

from assets.drift_report import drift_report
from lightrag_dagster.settings import EmbeddingSettings, ExtractionSettings, Settings
from resources import build_resources
from tests.support import FLOOD, RIVER, run, write_source


def test_the_report_names_what_drifted_and_its_price(
    settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(current: Settings) -> tuple[dict[str, object], bool]:
        result = dg.materialize([drift_report], instance=instance, resources=build_resources(current))
        (event,) = result.asset_materializations_for_node("drift_report")
        (check,) = result.get_asset_check_evaluations()
        return {name: value.value for name, value in event.metadata.items()}, check.passed

    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    metadata, published = report(settings)
    assert (metadata["drifted"], published) == (0, False)
    assert "| notes | pending: raw_documents, never made |" in str(metadata["sources"])

    run(settings)
    metadata, published = report(settings)
    assert (metadata["drifted"], metadata["chunks_to_ask_about"], published) == (0, 0, True)

    german = settings.model_copy(update={"extraction": ExtractionSettings(language="German")})
    metadata, _ = report(german)
    assert (metadata["drifted"], metadata["chunks_to_ask_about"]) == (1, 2)
    assert "| extractions | 2 |" in str(metadata["sources"])

    other = settings.model_copy(update={"embedding": EmbeddingSettings(dimensions=512)})
    metadata, published = report(other)
    assert (metadata["drifted"], metadata["drifted_of_knowledge_base"], published) == (0, "vectors", True)
    tokens, cost = metadata["tokens_to_embed_at_most"], metadata["backfill_cost_usd_high"]
    assert (isinstance(tokens, int) and tokens > 100, cost) == (True, 0.0)
