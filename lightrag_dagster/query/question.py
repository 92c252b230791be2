"""A question and its options, checked before anything is looked up."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time
from typing import Any, Literal, TypedDict

from pydantic import ValidationError

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

_MIN_WEIGHT = 3
# Scripts that write a word in one or two characters: each counts as two Latin letters.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class Filters:
    """Conditions on the documents that a question may see; all that are given must hold.

    Lists may be any iterable, and a single text is a list of one.

    Attributes:
        sources: names of sources.
        paths: patterns; the path below the source must match one. `*` is any text, slashes included.
        media_types: such as `text/markdown`.
        documents: ids of documents.
        authors: names; one of a document's authors must be among them, in any case.
        tags: a document must have one of them, in any case.
        languages: codes of ISO 639, such as `de`.
        modified_since: the earliest time of modification, UTC unless it says otherwise. A date means its first moment,
            a text is ISO 8601.
        dated_since: the earliest day of the document's own date, which not every document has.
        dated_until: the latest day of that date.

    Raises:
        QueryError: what should be a time or a day is none.
    """

    sources: Iterable[str] = ()
    paths: Iterable[str] = ()
    media_types: Iterable[str] = ()
    documents: Iterable[str] = ()
    authors: Iterable[str] = ()
    tags: Iterable[str] = ()
    languages: Iterable[str] = ()
    modified_since: date | str | None = None
    dated_since: date | str | None = None
    dated_until: date | str | None = None

    def __post_init__(self) -> None:
        settle: dict[str, Callable[[Any], object]] = {"modified_since": _time, "dated_since": _day, "dated_until": _day}
        for one in fields(self):
            settled = settle.get(one.name, _texts)(getattr(self, one.name))
            object.__setattr__(self, one.name, settled)


class QueryOptions(TypedDict, total=False):
    """Options of one question; an option that is left out or None is taken from the settings.

    `QuerySettings` describes each setting and checks the values. The first four are no settings: `keywords` replace
    the call that finds them, in modes that need any, and do nothing in the others; `history` reaches the model that
    answers, but not retrieval; `filters` bound what may be found; `explain` makes the steps of the result list every
    item.
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
    filter_facts: bool | None
    decompose: bool | None
    max_hops: int | None


@dataclass(frozen=True)
class Question:
    """A question that can be asked, with every option settled."""

    text: str
    settings: QuerySettings
    keywords: Keywords | None = None
    history: Sequence[Message] = ()
    filters: Filters = field(default_factory=Filters)
    explain: bool = False


def question_of(query: str, options: QueryOptions, defaults: QuerySettings) -> Question:
    """Return the question, without surrounding whitespace, and its options.

    Raises:
        QueryError: it is empty or too short to retrieve by; there is no such mode or option, or a value is out of
            bounds.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    own = {one.name: given.pop(one.name) for one in fields(Question) if one.name in given}
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
    if MODES[settings.mode].retrieves and len(text) + len(_WIDE.findall(text)) < _MIN_WEIGHT:
        unbounded = " or ".join(name for name, mode in MODES.items() if not mode.retrieves)
        raise QueryError(
            f"the question {text!r} is too short; use at least {_MIN_WEIGHT} letters"
            f" (a Chinese, Japanese or Korean character counts as 2) or mode {unbounded}"
        )
    return Question(text, settings, **own)


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _time(value: date | str | None) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise QueryError(f"modified since {value!r} is not a time; write it like 2026-01-31") from error
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(value: date | str | None) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise QueryError(f"dated {value!r} is not a day; write it like 2026-01-31") from error
    return value.date() if isinstance(value, datetime) else value
