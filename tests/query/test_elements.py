"""The tables and figures behind an answer."""

from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

TABLE = "| station | level |\n|---|---|\n| Halden Weir | 2.1 |\n| Corley Bridge | 3.4 |"
TEXT = f"# Levels\n\nLevels in March:\n\n{TABLE}\n\nMarta Lindqvist read them.\n\n![The weir](weir.png)"


@pytest.mark.long
def test_an_answer_gives_back_the_tables_and_figures_of_its_chunks(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    publish_sources(settings, {"notes": {"levels.md": TEXT, "other.md": f"Jonas Feld keeps another one.\n\n{TABLE}"}})
    with KnowledgeBase.open(settings.home) as knowledge:
        found = knowledge.retrieve("Who read the levels in March?", mode="naive", chunk_top_k=1, cosine_threshold=-1)
        (chunk,) = found.chunks
        behind = f"from document_elements where list_has_any(chunk_ids, ['{chunk.chunk_id}']) order by element_index"
        elements = knowledge.sql(behind).to_pylist()
    assert [(one["path"], one["kind"], one["caption"], one["content"]) for one in elements] == [
        ("levels.md", "table", "Levels in March:", TABLE),
        ("levels.md", "figure", "The weir", "![The weir](weir.png)"),
    ]
