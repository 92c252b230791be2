"""How good answers are: against the known answer, and by the judgement of a language model."""

import json
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.protocols import ChatModel
from lightrag_dagster.errors import PermanentProviderError, TransientProviderError
from lightrag_dagster.evaluation.questions import GoldQuestion
from lightrag_dagster.query.citations import without_references
from lightrag_dagster.query.context import render
from lightrag_dagster.query.knowledge_base import Prepared
from lightrag_dagster.stages.extraction.thinking import without_thinking
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import judge_request

JUDGED = pa.schema(
    [("mode", pa.string()), ("question", pa.string()), ("answer", pa.string())]
    + [(name, pa.float64()) for name in ("exact_match", "f1", "faithfulness", "relevance")]
)

_WORST, _BEST = 1, 5
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Judgement(NamedTuple):
    """What a model says of an answer, each 0 to 1: does the context support it, and does it answer the question."""

    faithfulness: float
    relevance: float


async def judge_all(
    asked: Sequence[tuple[GoldQuestion, Prepared]],
    answering: ChatModel,
    judging: ChatModel,
    prompts: Prompts,
    max_concurrency: int,
) -> pa.Table:
    """Answer and judge prepared questions; return JUDGED. What a model cannot answer or judge is null.

    Raises:
        ProviderAccessError: no question can succeed until a person acts.
    """
    rows: list[dict[str, Any]] = []
    waiting = iter(asked)

    async def work() -> None:
        for question, prepared in waiting:
            rows.append(await _judged(question, prepared, answering, judging, prompts))
            report("answers", len(rows), len(asked))

    await gather_or_cancel(work() for _ in range(min(max_concurrency, len(asked))))
    return pa.Table.from_pylist(rows, JUDGED)


async def _judged(
    question: GoldQuestion, prepared: Prepared, answering: ChatModel, judging: ChatModel, prompts: Prompts
) -> dict[str, Any]:
    row: dict[str, Any] = {"mode": prepared.retrieval.mode, "question": question.question}
    if prepared.request is None:
        return row
    try:
        answer = without_references((await answering.complete(prepared.request)).text)
        row["answer"] = answer
        if question.answer is not None:
            row |= {"exact_match": exact_match(answer, question.answer), "f1": f1(answer, question.answer)}
        request = judge_request(prompts, question.question, render(prepared.retrieval), answer)
        judgement = parse_judgement((await judging.complete(request)).text)
    except (PermanentProviderError, TransientProviderError):
        return row
    return row | judgement._asdict() if judgement else row


def parse_judgement(text: str) -> Judgement | None:
    """Read a judge's answer, a JSON object with marks from 1 to 5; None where it is not that."""
    try:
        answer = without_thinking(text)
        found, _ = json.JSONDecoder().raw_decode(answer[answer.index("{") :])
        marks = [float(found[name]) for name in Judgement._fields]
    except (ValueError, KeyError, TypeError, RecursionError):
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
