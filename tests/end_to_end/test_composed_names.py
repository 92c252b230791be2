"""Names of sources and files as macOS stores them, with accents apart, are found as people type them."""

from pathlib import Path

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, missing_gold, retrieve_all
from lightrag_dagster.settings import Settings
from tests.support import OFFICE, RIVER, build, write_source

SOURCE, PATH = "e\u0301quipe", "proce\u0301dure.md"
TYPED = "\u00e9quipe/proc\u00e9dure.md"


def test_what_was_typed_is_found(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", sources=tmp_path / "sources")
    write_source(settings, SOURCE, {PATH: RIVER})
    write_source(settings, "notes", {"office.md": OFFICE})
    source, path = TYPED.split("/")
    take(settings, [Decision(action="split", names=("Jonas Feld",), into="Feld", sources=(source,), paths=(path,))])
    build(settings)
    question = FiledQuestion(question="Who maintains the gauge at Halden Weir?", documents=[TYPED])
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert {"Feld", "Jonas Feld"} <= set(knowledge.snapshot.graph.entities.rows["name"].to_pylist())
        found = knowledge.retrieve(question.question, filters=Filters(sources=source, paths="proc\u00e9*"))
        assert [(one.source, one.path) for one in found.references] == [(SOURCE, PATH)]
        assert missing_gold(knowledge, [question]) == []
        items = retrieve_all(knowledge, [question], ["naive"]).hits["item"].to_pylist()
        assert set(gold_of([question])["item"].to_pylist()) <= set(items)
