"""Against a real snapshot: `tests.query.published` says what is in it."""

from pathlib import Path

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.evaluation.evaluation import evaluate
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.report import cells
from lightrag_dagster.evaluation.retrieving import missing_gold
from lightrag_dagster.evaluation.summary import summarise
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.settings import load_settings

MEASURED = tuple(name for name, mode in MODES.items() if mode.retrieves)
QUESTIONS = [
    FiledQuestion(question="Who maintains the gauge at Halden Weir?", documents=["archive/weir.md"]),
    FiledQuestion(question="Who leads the office in Bergen?", documents=["office/bergen/notes.txt"]),
    # The chunk stands in two documents of two sources; either is found by it.
    FiledQuestion(question="Who repaired the sensor at Station 14?", documents=["office/copy.md"]),
]


def test_every_mode_and_control_is_measured(published_home: Path) -> None:
    settings = load_settings(home=published_home)
    with KnowledgeBase.open(settings=settings) as knowledge:
        rows = evaluate(knowledge, QUESTIONS)
        again = evaluate(knowledge, QUESTIONS)
    assert {(row["mode"], row["question"]) for row in rows.to_pylist()} == {
        (mode, one.question) for mode in MEASURED for one in QUESTIONS
    }
    for row in rows.to_pylist():
        assert row["recall"] == 1, row
        assert row["context_tokens"] > 0
        assert row["milliseconds"] > 0
        assert row["answer"] is row["faithfulness"] is None
    by_control = {row["question"]: row["mrr"] for row in rows.to_pylist() if row["mode"] == "bm25"}
    assert by_control == {one.question: 1 for one in QUESTIONS}
    keys = [("mode", "ascending"), ("question", "ascending")]
    first, second = (table.drop_columns("milliseconds").sort_by(keys) for table in (rows, again))
    assert first.equals(second)


def test_chunks_can_be_the_gold(published_home: Path) -> None:
    settings = load_settings(home=published_home)
    with KnowledgeBase.open(settings=settings) as knowledge:
        (best, *_) = knowledge.retrieve("Who leads the office in Bergen?", mode="naive").chunks
        gold = FiledQuestion(question="Who leads the office in Bergen?", chunks=[best.chunk_id, "chunk-absent"])
        (row,) = evaluate(knowledge, [gold], ["naive"]).to_pylist()
        assert missing_gold(knowledge, [gold, *QUESTIONS]) == ["chunk-absent"]
    assert (row["recall"], row["mrr"]) == (0.5, 1)


def test_no_question_is_no_row(published_home: Path) -> None:
    settings = load_settings(home=published_home)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert evaluate(knowledge, []).num_rows == 0


def test_the_report_names_every_mode(published_home: Path) -> None:
    settings = load_settings(home=published_home)
    with KnowledgeBase.open(settings=settings) as knowledge:
        summary = summarise(evaluate(knowledge, QUESTIONS))
    heading, *rows = cells(summary)
    assert heading == ["mode", "recall@5", "recall@2", "precision@5", "MRR", "nDCG@5", "ms", "tokens"]
    assert {row[0] for row in rows} == set(MEASURED)
    assert rows[0][1] == "1.000 [1.000, 1.000]"
