import shutil
from pathlib import Path

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.evaluation.answers import answer_all
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import Answer, Loopback, Received, Reply
from tests.query.published import publish_sources

WEIR, OFFICE = "Who maintains the gauge at Halden Weir?", "Who leads the office in Bergen?"
QUESTIONS = [FiledQuestion(question=WEIR, mode="naive"), FiledQuestion(question=OFFICE, mode="naive")]


@pytest.fixture
def configured(tmp_path: Path, published_home: Path, loopback: Loopback) -> Settings:
    offline = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    shutil.copytree(published_home, offline.home)
    shutil.copytree(published_home.parent / "sources", offline.sources)
    asking = {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 2}
    query = {"chunk_top_k": 1}
    return load_settings(home=offline.home, sources=offline.sources, llm=asking, query=query)


@pytest.mark.long
def test_only_questions_whose_context_changed_are_asked_again(configured: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: f"Answer {len(loopback.requests)} [1]"
    with KnowledgeBase.open(settings=configured) as knowledge:
        first = answer_all(knowledge, QUESTIONS, None)
        assert first.asked == 2
        assert answer_all(knowledge, QUESTIONS, first.rows) == (first.rows, 0, 0, 0)
    for file in configured.home.glob("responses.sqlite*"):
        file.unlink()
    changed = {"archive": {"weir.md": "Priya Nair maintains the gauge at Halden Weir since 2024."}}
    publish_sources(load_settings(home=configured.home, sources=configured.sources), changed)
    with KnowledgeBase.open(settings=configured) as knowledge:
        second = answer_all(knowledge, QUESTIONS, first.rows)
    assert second.asked == 1
    before, after = ({row["question"]: row for row in table.to_pylist()} for table in (first.rows, second.rows))
    assert after[OFFICE] == before[OFFICE]
    assert after[WEIR]["answer"] != before[WEIR]["answer"]
    assert after[WEIR]["cited"] == after[WEIR]["references"] == ["archive/weir.md"]
    assert after[WEIR]["snapshot_id"] != before[WEIR]["snapshot_id"]


def test_another_model_is_asked_again(configured: Settings, loopback: Loopback) -> None:
    with KnowledgeBase.open(settings=configured) as knowledge:
        first = answer_all(knowledge, QUESTIONS[:1], None)
    other = configured.model_copy(update={"llm": configured.llm.model_copy(update={"model": "another"})})
    with KnowledgeBase.open(settings=other) as knowledge:
        assert answer_all(knowledge, QUESTIONS[:1], first.rows).asked == 1


def test_the_same_question_twice_is_one_row(configured: Settings) -> None:
    with KnowledgeBase.open(settings=configured) as knowledge:
        assert answer_all(knowledge, QUESTIONS * 2, None).rows.num_rows == 2
        assert answer_all(knowledge, [], None).rows.num_rows == 0


def test_a_question_that_cannot_be_asked_is_a_row_with_the_reason(configured: Settings) -> None:
    with KnowledgeBase.open(settings=configured) as knowledge:
        made = answer_all(knowledge, [FiledQuestion(question="?"), *QUESTIONS], None)
    errors = {row["question"]: row["error"] for row in made.rows.to_pylist()}
    assert (made.asked, made.failed, made.asked_again) == (3, 1, 0)
    assert errors["?"].startswith("the question '?' is too short; use at least 3 letters")
    assert errors[WEIR] is None


def test_an_answer_that_is_cut_off_says_so(configured: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: Answer("Halden Weir is", "length")
    with KnowledgeBase.open(settings=configured) as knowledge:
        made = answer_all(knowledge, QUESTIONS[:1], None)
        assert answer_all(knowledge, QUESTIONS[:1], made.rows) == (made.rows, 0, 1, 0)  # kept, and still cut off
    (row,) = made.rows.to_pylist()
    assert (row["answer"], made.failed) == ("Halden Weir is", 1)
    assert row["error"] == "the answer is cut off; raise llm.roles.answer.max_output_tokens"


@pytest.mark.parametrize(("status", "again"), [(400, 0), (503, 1)])
def test_a_question_that_fails_is_a_row_with_the_reason(
    configured: Settings, loopback: Loopback, status: int, again: int
) -> None:
    def fault(received: Received) -> Reply | None:
        return Reply.error(status, message="not today") if OFFICE in str(received.body) else None

    loopback.fault = fault
    patient = configured.model_copy(update={"llm": configured.llm.model_copy(update={"max_retries": 0})})
    with KnowledgeBase.open(settings=patient) as knowledge:
        first = answer_all(knowledge, QUESTIONS, None)
        loopback.fault = lambda received: None
        second = answer_all(knowledge, QUESTIONS, first.rows)
    assert first[1:] == (2, 1, again)
    rows = {row["question"]: row for row in first.rows.to_pylist()}
    assert rows[WEIR]["error"] is None
    assert rows[WEIR]["answer"]
    assert "not today" in rows[OFFICE]["error"] or str(status) in rows[OFFICE]["error"]
    assert rows[OFFICE]["answer"] == ""
    assert second[1:] == (1, 0, 0)
    assert second.rows["error"].null_count == 2
