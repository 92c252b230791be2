"""In a scope stands nothing that another system made of hidden documents too."""

import os
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.imports import import_base, read_graphrag
from lightrag_dagster.imports.files import write_documents
from lightrag_dagster.pipeline.scopes import scope_warnings
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from tests.imports.test_graphrag import MOST, Tables, write
from tests.support import build, published, snapshot_contents

HIDDEN = "ACME lays off Priya Nair. She works for Acme."
SHOWN = "Acme opens a shop. Priya Nair leads it."


def graphrag(hidden: bool) -> Tables:
    """Return tables of a shown document, and perhaps a hidden one, with one description of both, as GraphRAG has it."""
    units, said = (["u1", "u2"], "It opens a shop, and has qqlayoffs.") if hidden else (["u1"], "It opens a shop.")
    made: Tables = {
        "documents": [{"id": "d1", "title": "public.txt", "text": SHOWN}],
        "text_units": [{"id": "u1", "text": SHOWN}],
        "entities": [
            {"title": "ACME", "type": "ORG", "description": said, "text_unit_ids": units},
            {"title": "PRIYA NAIR", "type": "PERSON", "description": "She leads.", "text_unit_ids": ["u1"]},
        ],
        "relationships": [
            {"source": "ACME", "target": "PRIYA NAIR", "description": said, "weight": 9.0, "text_unit_ids": units},
        ],
    }  # fmt: skip
    if hidden:
        made["documents"].append({"id": "d2", "title": "layoffs.txt", "text": HIDDEN})
        made["text_units"].append({"id": "u2", "text": HIDDEN})
    return made


def test_a_scope_shows_no_row_that_graphrag_made(settings: Settings, tmp_path: Path) -> None:
    scoped, homes = settings.changed(scopes={"press": {"paths": ("public.txt",)}}), list[Settings]()
    for hidden in (True, False):
        folder = tmp_path / f"{hidden}"
        homes.append(one := scoped.changed(home=folder / "home", sources=folder / "sources"))
        base = read_graphrag(write(folder / "output", graphrag(hidden)), MOST)
        write_documents(one.sources / "notes", base.documents, MOST)
        os.utime(one.sources / "notes" / "public.txt", (1_700_000_000, 1_700_000_000))
        import_base(one, "notes", base, same_embedder=False)
        build(one)
    some, none = ((published(one.within("press")).snapshot_id, snapshot_contents(one.within("press"))) for one in homes)
    assert some == none
    with KnowledgeBase.open(homes[0].home, scope="press", settings=homes[0]) as knowledge:
        rows = [repr(knowledge.sql(f"FROM {table}").to_pylist()) for table in ("entities", "relations", "extractions")]
        assert "qqlayoffs" not in " ".join(rows)
        assert [one.content for one in knowledge.retrieve("Who opens a shop?", mode="naive").chunks] == [SHOWN]
    said = [
        "scope press does not show the names that GraphRAG found in 1 chunk of notes, since it described them by other "
        "texts too; `lightrag-dagster backfill --source notes` asks about these chunks again"
    ]
    assert [[*scope_warnings(Situation.looking(one))] for one in homes] == [said, said]
    with KnowledgeBase.open(homes[0].home, settings=homes[0]) as knowledge:
        assert "qqlayoffs" in repr(knowledge.sql("FROM entities").to_pylist())


@pytest.mark.long
def test_a_backfill_gives_a_scope_its_names(settings: Settings, tmp_path: Path) -> None:
    scoped = settings.changed(scopes={"press": {"paths": ("public.txt",)}})
    base = read_graphrag(write(tmp_path / "output", graphrag(hidden=True)), MOST)
    import_base(scoped, "notes", base, same_embedder=False)
    build(scoped)
    build(scoped, backfill=True)
    with KnowledgeBase.open(scoped.home, scope="press", settings=scoped) as knowledge:
        assert "Priya Nair" in knowledge.sql("FROM entities")["name"].to_pylist()
    assert not [*scope_warnings(Situation.looking(scoped))]
