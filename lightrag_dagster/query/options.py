"""What can be asked: the options of a call, and what makes a question too short."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from pydantic import ValidationError

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.filters import Filters
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

_MIN_WEIGHT = 3
# Scripts that write a word in one or two characters: each counts as two Latin letters.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


class QueryOptions(TypedDict, total=False):
    """What may go with a question; what is left out, or None, is as in the settings (`QuerySettings` explains each).

    `keywords` spare the call that would find them; `history` reaches the model that answers, but not retrieval;
    `filters` bound what may be found at all; `explain` makes the steps of the result name every item.
    """

    keywords: Keywords | None
    history: Sequence[Message]
    filters: Filters
    explain: bool
    mode: str | None
    top_k: int | None
    chunk_top_k: int | None
    cosine_threshold: float | None
    max_entity_tokens: int | None
    max_relation_tokens: int | None
    max_total_tokens: int | None
    related_chunk_number: int | None
    related_chunk_method: Literal["VECTOR", "WEIGHT"] | None
    response_type: str | None
    user_prompt: str | None
    system_prompt: str | None
    rerank: bool | None
    min_rerank_score: float | None


@dataclass(frozen=True)
class Question:
    """A question that can be asked, with everything settled."""

    text: str
    keywords: Keywords | None
    history: Sequence[Message]
    filters: Filters
    explain: bool
    settings: QuerySettings


def question_of(query: str, options: QueryOptions, defaults: QuerySettings) -> Question:
    """Return the question, without the space around it, and its options.

    Raises:
        QueryError: it is empty, or too short to retrieve by; there is no such mode, or a value is out of bounds.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    besides: dict[str, Any] = {"keywords": None, "history": (), "filters": Filters(), "explain": False}
    besides |= {name: given.pop(name) for name in besides.keys() & given.keys()}
    try:
        settings = QuerySettings.model_validate(defaults.model_dump() | given)
    except ValidationError as error:
        first = error.errors()[0]
        raise QueryError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}, not {first['input']!r}") from error
    if settings.mode not in MODES:
        raise QueryError(f"there is no mode {settings.mode!r}; choose one of {', '.join(MODES)}")
    text = query.strip()
    if not text:
        raise QueryError("the question is empty; ask something")
    if settings.mode != "bypass" and len(text) + len(_WIDE.findall(text)) < _MIN_WEIGHT:
        raise QueryError(
            f"the question {text!r} is too short; use at least {_MIN_WEIGHT} letters"
            " (a Chinese, Japanese or Korean character counts as 2) or mode bypass"
        )
    return Question(text=text, settings=settings, **besides)
