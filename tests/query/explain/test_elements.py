"""The tables and figures behind an answer."""

import asyncio
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import QueryTimeoutError
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

TABLE = "| station | level |\n|---|---|\n| Halden Weir | 2.1 |\n| Corley Bridge | 3.4 |"
TEXT = f"# Levels\n\nLevels in March:\n\n{TABLE}\n\nMarta Lindqvist read them.\n\n![The weir](weir.png)"


@pytest.mark.long
def test_an_answer_gives_back_the_tables_and_figures_of_its_chunks(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    texts = {"levels.md": TEXT, "copy/levels.md": TEXT, "other.md": f"Jonas Feld keeps another one.\n\n{TABLE}"}
    publish_sources(settings, {"notes": texts})
    with KnowledgeBase.open(settings.home) as knowledge:
        found = knowledge.retrieve("Who read the levels in March?", mode="naive", chunk_top_k=1, cosine_threshold=-1)
        elements = knowledge.elements(found.chunks)
        assert asyncio.run(knowledge.aelements(found.chunks, timeout=60)) == elements
        assert knowledge.elements([]) == []
        with pytest.raises(QueryTimeoutError):
            knowledge.elements(found.chunks, timeout=1e-6)
    (chunk,) = found.chunks
    assert [(one.path, one.kind, one.caption, one.content) for one in elements] == [
        ("copy/levels.md", "table", "Levels in March:", TABLE),
        ("copy/levels.md", "figure", "The weir", "![The weir](weir.png)"),
        ("levels.md", "table", "Levels in March:", TABLE),
        ("levels.md", "figure", "The weir", "![The weir](weir.png)"),
    ]
    assert {one.chunk_ids for one in elements} == {(chunk.chunk_id,)}
    assert [TEXT[one.char_start : one.char_end] for one in elements] == [one.content for one in elements]
