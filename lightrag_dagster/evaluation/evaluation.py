"""One evaluation: every question in every mode, measured; the rows of one snapshot."""

from collections.abc import Sequence

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.evaluation.judging import JUDGED, judge_answers
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, languages_of, retrieve_all
from lightrag_dagster.evaluation.summary import K
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.schemas import EVALUATED_QUESTIONS

_KEYS = ["mode", "question"]


def evaluate(
    knowledge: KnowledgeBase, questions: Sequence[FiledQuestion], modes: Sequence[str] | None = None
) -> pa.Table:
    """Return EVALUATED_QUESTIONS for the snapshot, by mode and question; without questions, no rows.

    If a language model is configured, the answers of the default mode are judged, if it is one of those compared.

    Args:
        knowledge: the snapshot to ask.
        questions: questions with gold.
        modes: those to compare; None: all that retrieve.

    Raises:
        QueryError: a question cannot be asked, or a mode does not exist.
        ProviderError: the model that finds keywords, or the embedder, gave no usable answer.
    """
    if not questions:
        return EVALUATED_QUESTIONS.empty_table()
    settings = knowledge.settings
    modes = modes or [name for name, mode in MODES.items() if mode.retrieves]
    asked, hits = retrieve_all(knowledge, questions, modes)
    measured = measure(asked.select(_KEYS), hits, gold_of(questions), K)
    judged = JUDGED.empty_table()
    if settings.llm.provider != "offline" and settings.query.mode in modes:
        judged = judge_answers(knowledge, questions)
    rows = asked.join(measured, _KEYS).join(judged, _KEYS)
    keys = {one.question: digest(one.question, one.gold, K) for one in questions}
    languages, names = languages_of(knowledge, questions), rows["question"].to_pylist()
    constants = {
        "sequence": pa.repeat(knowledge.manifest.sequence, rows.num_rows),
        "snapshot_id": pa.repeat(knowledge.snapshot_id, rows.num_rows),
        "question_key": pa.array([keys[question] for question in names], pa.string()),
        "language": pa.array([languages.get(question) for question in names], pa.string()),
    }
    for name, column in constants.items():
        rows = rows.append_column(name, column)
    # Arrow's joins have no order.
    return (
        rows.select(EVALUATED_QUESTIONS.names).cast(EVALUATED_QUESTIONS).sort_by([(key, "ascending") for key in _KEYS])
    )
