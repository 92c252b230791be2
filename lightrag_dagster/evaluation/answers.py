"""The answers table: the questions of a file, asked of a snapshot.

A question whose messages have not changed keeps its answer. A question that gets no answer is a row with the reason,
and does not stop the others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import PermanentProviderError, QueryError, TransientProviderError
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.query.knowledge_base import CUT_OFF, KnowledgeBase
from lightrag_dagster.schemas import ANSWERS

_Before = dict[tuple[str, str], dict[str, Any]]  # rows of ANSWERS by question and mode


class Answers(NamedTuple):
    """The table, and the numbers of its rows that were asked, that failed, and that may succeed when asked again."""

    rows: pa.Table
    asked: int
    failed: int
    asked_again: int


def answer_all(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion], previous: pa.Table | None) -> Answers:
    """Answer every question, `llm.max_concurrency` at a time.

    Args:
        knowledge: the snapshot to ask.
        questions: the questions; one that is repeated in the same mode is one row.
        previous: ANSWERS before. A row is kept, with its snapshot id, when model and messages would be the same.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
        EmbeddingError: the embedder is not the one of the snapshot.
    """
    before = {(row["question"], row["mode"]): row for row in previous.to_pylist()} if previous else {}
    made = knowledge.map(lambda one: _answered(knowledge, one, before), questions)
    rows = {(one.row["question"], one.row["mode"]): one.row for one in made}
    return Answers(
        pa.Table.from_pylist(list(rows.values()), ANSWERS),
        asked=sum(one.asked for one in made),
        failed=sum(one.failed for one in made),
        asked_again=sum(one.again for one in made),
    )


class _Made(NamedTuple):
    row: dict[str, Any]
    asked: bool = True
    failed: bool = False
    again: bool = False


def _answered(knowledge: KnowledgeBase, question: FiledQuestion, before: _Before) -> _Made:
    row: dict[str, Any] = {
        "question": question.question.strip(),
        "mode": question.mode or knowledge.settings.query.mode,
        "answer": "",
        "references": [],
        "cited": [],
        "snapshot_id": knowledge.snapshot_id,
        "request_key": "",
    }
    try:
        prepared = knowledge.prepare(question.question, mode=question.mode)
        messages = [(one.role, one.content) for one in prepared.request.messages] if prepared.request else []
        key = digest(chat_identity(knowledge.settings.llm.of("answer")), messages)
        old = before.get((row["question"], row["mode"]))
        if old and old.get("request_key") == key:
            return _Made(old, asked=False, failed=bool(old["error"]))
        answer = knowledge.answer(prepared)
    except (TransientProviderError, PermanentProviderError, QueryError) as error:
        return _Made(row | {"error": str(error)}, failed=True, again=isinstance(error, TransientProviderError))
    is_cut = CUT_OFF in answer.retrieval.notes
    files = {name: [one.file for one in getattr(answer, name)] for name in ("references", "cited")}
    made = {"answer": answer.text, "request_key": key, "error": CUT_OFF if is_cut else None}
    return _Made(row | files | made, failed=is_cut)
