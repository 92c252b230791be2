"""Memory does not grow with a source."""

from pathlib import Path

import pytest

from benchmarks.streaming import measured, write_documents
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

MOST_GROWTH = 64  # megabytes; what DuckDB keeps before it spills is bounded too, but not yet reached here


@pytest.mark.long
def test_memory_does_not_grow_with_the_documents_of_a_source(tmp_path: Path) -> None:
    peaks: dict[int, dict[str, float]] = {}
    for documents in (10_000, 40_000):
        folder = tmp_path / str(documents)
        write_documents(folder / "sources" / "reports", documents)
        settings = load_settings(home=folder / "home", sources=folder / "sources", extraction={"gleaning": 0})
        for _ in range(2):  # at first, and with everything known
            costs = measured(settings)
        peaks[documents] = {name: cost.megabytes for name, cost in costs.items()}
        assert SourceTables(Home(settings.home)).require("entity_mentions", "reports").rows == 2 * documents
    few, many = peaks.values()
    assert {name: round(many[name] - few[name]) for name in many if many[name] > few[name] + MOST_GROWTH} == {}
