"""The answers table: filed questions, asked of a snapshot. A question whose messages are as before keeps its answer.

One that gets no answer is a row with the reason; the others are answered all the same.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.evaluation.filed_questions import FiledQuestion
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.schemas import ANSWERS


class Answers(NamedTuple):
    """The table, and of its rows how many were asked rather than kept, failed, and may succeed when asked again."""

    rows: pa.Table
    asked: int
    failed: int
    asked_again: int


def answer_all(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion], previous: pa.Table | None) -> Answers:
    """Answer every question, `llm.max_concurrency` at a time.

    Args:
        knowledge: the snapshot to ask.
        questions: what to ask; twice the same in one mode is one row.
        previous: ANSWERS as they stood before. A row stays as it is, snapshot id too, where model and messages would be
            the same: the id of a snapshot says nothing, its context all.

    Raises:
        QueryError: a question cannot be asked.
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
        EmbeddingError: the embedder is not the one of the snapshot.
    """
    before = {(row["question"], row["mode"]): row for row in previous.to_pylist()} if previous else {}

    def answered(question: FiledQuestion) -> tuple[dict[str, Any], bool]:
        prepared = knowledge.prepare(question.question, mode=question.mode)
        messages = [(one.role, one.content) for one in prepared.request.messages] if prepared.request else []
        key = digest(knowledge.chat_identity, messages)
        old = before.get((prepared.retrieval.query, prepared.retrieval.mode))
        if old and old.get("request_key") == key:
            return old, False
        answer = knowledge.answer(prepared)
        row = {
            "question": prepared.retrieval.query,
            "mode": prepared.retrieval.mode,
            "answer": answer.text,
            "references": [reference.file for reference in answer.references],
            "cited": [reference.file for reference in answer.cited],
            "snapshot_id": answer.snapshot_id,
            "request_key": key,
        }
        return row, True

    def row_of(question: FiledQuestion) -> _Made:
        try:
            return _Made(*answered(question))
        except (TransientProviderError, PermanentProviderError) as error:
            row = {
                "question": question.question.strip(),
                "mode": question.mode or knowledge.mode,
                "answer": "",
                "references": [],
                "cited": [],
                "snapshot_id": knowledge.snapshot_id,
                "request_key": "",
                "error": str(error),
            }
            return _Made(row, True, failed=True, again=isinstance(error, TransientProviderError))

    made = knowledge.map(row_of, questions)
    rows = {(one.row["question"], one.row["mode"]): one.row for one in made}
    return Answers(
        pa.Table.from_pylist(list(rows.values()), ANSWERS),
        asked=sum(one.asked for one in made),
        failed=sum(one.failed for one in made),
        asked_again=sum(one.again for one in made),
    )


class _Made(NamedTuple):
    row: dict[str, Any]
    asked: bool
    failed: bool = False
    again: bool = False
