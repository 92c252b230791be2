"""The quality of answers: against the known answer, and by the judgement of a language model."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.retrieving import reranks
from lightrag_dagster.query.answer_text import without_references
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.query.steps.context import render
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
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Judgement(NamedTuple):
    """A model's marks for an answer, 0 to 1: support by the context, and relevance to the question."""

    faithfulness: float
    relevance: float


def judge_answers(knowledge: KnowledgeBase, questions: Sequence[FiledQuestion]) -> pa.Table:
    """Answer the questions in the default mode and judge the answers; each question takes two calls.

    A judgement that cannot be read is asked for once more. Return JUDGED, null for an unusable answer of a model.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    mode = knowledge.settings.query.mode
    prompts = load_prompts(knowledge.settings.prompts, knowledge.settings.language)

    def judged(one: FiledQuestion) -> dict[str, Any]:
        row: dict[str, Any] = {"mode": mode, "question": one.question}
        try:
            prepared = knowledge.prepare(one.question, response_type=RESPONSE_TYPE, rerank=reranks(knowledge.settings))
            if prepared.request is None:
                return row
            answer = without_references(knowledge.complete(prepared.request))
            row["answer"] = answer
            if one.answer is not None:
                row |= {"exact_match": exact_match(answer, one.answer), "f1": f1(answer, one.answer)}
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
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
