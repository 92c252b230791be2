"""One evaluation: every question in every mode, measured, and the answers judged; the rows of one snapshot.

An answer is compared with the known one, and judged by a language model.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from unicodedata import category

import pyarrow as pa

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import gold_of, languages_of, reranks, retrieve_all
from lightrag_dagster.evaluation.summary import K
from lightrag_dagster.query.answer_text import without_references
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.steps.context import render
from lightrag_dagster.schemas import EVALUATED_QUESTIONS
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import judge_request

RESPONSE_TYPE = "A short phrase: a name, a number or a date where one will do"
"""Form of the answers that are judged; short ones can be compared with the known answer."""

JUDGED = pa.schema(
    [("mode", pa.string()), ("question", pa.string()), ("answer", pa.string())]
    + [(name, pa.float64()) for name in ("exact_match", "f1", "faithfulness", "relevance")]
)

_WORST, _BEST = 1, 5
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ATTEMPTS = 2
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")  # a Chinese character is one
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
    keys = {one.question: digest(one.question, one.gold, K) for one in questions}
    languages = languages_of(knowledge, questions)
    of_snapshot = {"sequence": knowledge.manifest.sequence, "snapshot_id": knowledge.snapshot_id}
    rows = [
        row | of_snapshot | {"question_key": keys[row["question"]], "language": languages.get(row["question"])}
        for row in asked.join(measured, _KEYS).join(judged, _KEYS).to_pylist()
    ]
    # Arrow's joins have no order.
    return pa.Table.from_pylist(rows, EVALUATED_QUESTIONS).sort_by([(key, "ascending") for key in _KEYS])


class Judgement(NamedTuple):
    """A model's marks for an answer, 0 to 1: support by the context, and relevance to the question."""

    faithfulness: float
    relevance: float


def judge_answers(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> pa.Table:
    """Answer the questions in the default mode and judge the answers.

    Each question takes two calls, and one for keywords if the mode asks for them; a judgement that cannot be read is
    asked for once more. Return JUDGED, null for an unusable answer of a model. Without a context the answer is
    empty, and not judged: its relevance is 0, its faithfulness null.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    mode = knowledge.settings.query.mode
    prompts = load_prompts(knowledge.settings.prompts, knowledge.settings.language)

    def judged(one: FiledQuestion) -> dict[str, Any]:
        row: dict[str, Any] = {"mode": mode, "question": one.question}
        try:
            prepared = knowledge.prepare(one.question, response_type=RESPONSE_TYPE, rerank=reranks(knowledge.settings))
            answer = without_references(knowledge.complete(prepared.request)) if prepared.request else ""
            row["answer"] = answer
            if one.answer is not None:
                row |= {"exact_match": exact_match(answer, one.answer), "f1": f1(answer, one.answer)}
            if not answer:
                return row | {"relevance": 0.0}
            request = judge_request(prompts, one.question, render(prepared.retrieval), answer)
            asked = (replace(request, attempt=attempt) for attempt in range(_ATTEMPTS))
            judgement = next(filter(None, (parse_judgement(knowledge.complete(one)) for one in asked)), None)
        except (PermanentProviderError, TransientProviderError):
            return row
        return row | judgement._asdict() if judgement else row

    return pa.Table.from_pylist(knowledge.map(judged, questions), JUDGED)


def parse_judgement(text: str) -> Judgement | None:
    """Read a judge's answer, a JSON object with marks from 1 to 5; None if it is something else."""
    try:
        found = read_object(text)
        marks = [float(found[name]) for name in Judgement._fields]
    except (ValueError, KeyError, TypeError):
        return None
    if not all(_WORST <= mark <= _BEST for mark in marks):
        return None
    return Judgement(*((mark - _WORST) / (_BEST - _WORST) for mark in marks))


def exact_match(answer: str, known: str) -> float:
    """Return 1 if both are the same words, without case, punctuation and articles, else 0 (SQuAD's measure)."""
    return float(_words(answer) == _words(known))


def f1(answer: str, known: str) -> float:
    """Return the harmonic mean of the shares of words that both have in common (SQuAD's measure)."""
    given, wanted = _words(answer), _words(known)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted)) if common else float(given == wanted)


def _words(text: str) -> list[str]:
    plain = "".join(one for one in text.lower() if category(one)[0] not in "PS")
    return _WORD.findall(_ARTICLES.sub(" ", plain))
