"""One evaluation: every question in every mode, measured; the rows of one snapshot."""

from collections.abc import Callable, Sequence
from itertools import product

import pyarrow as pa

from lightrag_dagster.evaluation.answering import JUDGED
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import GoldQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, retrieve_all
from lightrag_dagster.query.knowledge_base import KnowledgeBase, Prepared
from lightrag_dagster.schemas import EVALUATED_QUESTIONS
from lightrag_dagster.settings import Settings

_KEYS = ["mode", "question"]


def evaluate(
    knowledge: KnowledgeBase,
    questions: Sequence[GoldQuestion],
    settings: Settings,
    count: Callable[[str], int],
    judged: pa.Table | None,
) -> pa.Table:
    """Return EVALUATED_QUESTIONS for the snapshot, by mode and question; no question, no row.

    Args:
        knowledge: the snapshot to ask.
        questions: what to ask, and what should be found.
        settings: modes and k, and how many chunks a question finds.
        count: gives the length of a text. Tokens.
        judged: as answering.JUDGED, of those modes whose answers were judged.

    Raises:
        QueryError: a question cannot be asked.
        ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
    """
    if not questions:
        return EVALUATED_QUESTIONS.empty_table()
    chosen = settings.evaluation
    asked, hits = retrieve_all(knowledge, questions, chosen.modes, settings.query.chunk_top_k, count)
    measured = measure(asked.select(_KEYS), hits, gold_of(questions), chosen.k)
    keyed = {one.question: one.key(chosen.k) for one in questions}
    rows = asked.join(measured, _KEYS).join(JUDGED.empty_table() if judged is None else judged, _KEYS)
    constants = {
        "sequence": pa.repeat(knowledge.manifest.sequence, rows.num_rows),
        "snapshot_id": pa.repeat(knowledge.snapshot_id, rows.num_rows),
        "question_key": pa.array([keyed[question] for question in rows["question"].to_pylist()], pa.string()),
    }
    for name, column in constants.items():
        rows = rows.append_column(name, column)
    # Arrow joins in no certain order.
    return (
        rows.select(EVALUATED_QUESTIONS.names).cast(EVALUATED_QUESTIONS).sort_by([(key, "ascending") for key in _KEYS])
    )


def prepare_answers(
    knowledge: KnowledgeBase, questions: Sequence[GoldQuestion], settings: Settings
) -> list[tuple[GoldQuestion, Prepared]]:
    """Return what to ask a model in the modes whose answers are judged."""
    chosen = settings.evaluation

    def prepared(asked: tuple[str, GoldQuestion]) -> tuple[GoldQuestion, Prepared]:
        mode, one = asked
        return one, knowledge.prepare(one.question, mode=mode, response_type=chosen.response_type)

    return knowledge.map(prepared, list(product(chosen.answer_modes, questions)))
