"""A question and its options, checked before anything is looked up."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from numbers import Integral
from typing import Any, Literal, TypedDict

from pydantic import ValidationError

from lightrag_dagster.core.protocols import Message
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query import arguments
from lightrag_dagster.query.filters.filters import Filters
from lightrag_dagster.query.mode import MODES, Mode, ModeName
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

_MIN_WEIGHT = 3
_MOST_CHARACTERS = 20_000
"""Most characters of a question: names are looked up at each word, in about a second for this length."""
# Scripts that write a word in one or two characters: each counts as two Latin letters.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_SAYS_NOTHING = dict[str, object](keywords=Keywords(), history=(), filters=Filters(), hops=0, system_prompt="")
_INSTRUCTIONS = frozenset({"history", "response_type", "system_prompt", "user_prompt"})


class QueryOptions(TypedDict, total=False):
    """Options of one question; an option that is left out or None is taken from the settings.

    The first eight are not settings. `QuerySettings` checks the values of all others. An option that a mode does not
    use has no effect, and a note of the result says so.
    """

    keywords: Keywords | None
    """They replace the call that finds them, in modes that need any."""
    history: Sequence[Message]
    """Earlier questions and answers, for the model that answers; retrieval does not look at them."""
    filters: Filters
    """The documents that may be used."""
    as_of: date | str | None
    """Facts that held on this day come first; of a month or year its first day."""
    explain: bool
    """True: the steps of the result list every item."""
    user_prompt: str | None
    """Further instructions to the model that answers."""
    system_prompt: str | None
    """Instructions in place of the package's."""
    timeout: float | None
    """Longest time until the answer; its last piece, if it is streamed. None: unlimited. Seconds."""
    mode: ModeName | None
    """The way to retrieve; docs/querying.md compares them."""
    top_k: int | None
    """Most entities, and most relations."""
    chunk_top_k: int | None
    """Most chunks in the context."""
    cosine_threshold: float | None
    """Hits with a smaller cosine similarity are dropped."""
    max_entity_tokens: int | None
    """Most tokens of entities in the context."""
    max_relation_tokens: int | None
    """Most tokens of relations in the context."""
    max_total_tokens: int | None
    """Most tokens of the whole prompt, without history."""
    related_chunk_number: int | None
    """Most chunks that are considered for each entity or relation."""
    related_chunk_method: Literal["VECTOR", "WEIGHT"] | None
    """These are chosen by similarity to the question, or by the rank of their entity or relation."""
    response_type: str | None
    """The form and length of the answer, such as "A table"."""
    rerank: bool | None
    """True: chunks are ordered by the reranker, where one is configured."""
    min_rerank_score: float | None
    """Chunks that the reranker scores lower are dropped."""
    filter_relations: bool | None
    """True: in modes fusion and ppr, a model chooses the relations at which the walk starts; one call a search."""
    hops: int | None
    """Most further searches for what a model says is missing, of one call each; 0 to 10."""
    prefer: Literal["best", "newest"] | None
    """The order of the chunks: best first, or those of the newest documents first."""


@dataclass(frozen=True)
class Question:
    """A valid question, with a value for every option; `notes` name the options without effect."""

    text: str
    settings: QuerySettings
    keywords: Keywords | None = None
    history: Sequence[Message] = ()
    filters: Filters = field(default_factory=Filters)
    as_of: date | None = None
    explain: bool = False
    user_prompt: str = ""
    system_prompt: str = ""
    timeout: float | None = None
    notes: tuple[str, ...] = ()


def question_of(
    query: str, options: QueryOptions, defaults: QuerySettings, *, reranker: str = "http", by_rules: bool = False
) -> Question:
    """Return the question, as documents are written (NFC) and without surrounding white space, and its options.

    `reranker` is the provider of the reranker; `by_rules` if the offline model answers.

    Raises:
        QueryError: it is not a text, or empty, or too short or too long to retrieve by; the mode or an option does not
            exist, or a value is of another kind or out of bounds.
    """
    asked = composed(arguments.text(query, "the question")).strip()
    for name in options:
        if name not in QueryOptions.__annotations__:
            raise QueryError(
                f"there is no option {arguments.shown(name)}{arguments.suggested(name, QueryOptions.__annotations__)}"
            )
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    own = {name: check(given[name]) for name, check in _OWN.items() if name in given}
    settings = _settings(defaults, {name: value for name, value in given.items() if name not in own})
    mode = _mode(settings.mode)
    if not asked:
        raise QueryError("the question is empty; ask something")
    weight = any(map(str.isalnum, asked)) * (len(asked) + len(_WIDE.findall(asked)))
    if mode.retrieves and weight < _MIN_WEIGHT:
        unbounded = " or ".join(name for name, one in MODES.items() if not one.retrieves)
        raise QueryError(
            f"the question {asked!r} is too short; use at least {_MIN_WEIGHT} letters"
            f" (a Chinese, Japanese or Korean character counts as 2) or mode {unbounded}"
        )
    if mode.retrieves and len(asked) > _MOST_CHARACTERS:
        raise QueryError(
            f"the question has {len(asked):,} characters, and {_MOST_CHARACTERS:,} is the most to look up; shorten it"
        )
    notes = _unused({**given, **own}, settings, mode, reranker=reranker, by_rules=by_rules)
    return Question(asked, settings, **own, notes=tuple(notes))


def _settings(defaults: QuerySettings, given: dict[str, Any]) -> QuerySettings:
    for name, value in given.items():
        if isinstance(value, str):
            arguments.text(value, name)
        elif isinstance(value, Integral) and not isinstance(value, bool):
            given[name] = int(value)  # a number of numpy
    try:
        return QuerySettings.model_validate(defaults.model_dump() | given, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise QueryError(f"{where}: {first['msg']}, not {arguments.shown(first['input'])}") from error


def _mode(name: str) -> Mode:
    if name in MODES:
        return MODES[name]
    near = arguments.suggested(name, MODES)
    raise QueryError(f"there is no mode {arguments.shown(name)}; choose one of {', '.join(MODES)}{near}")


def _keywords(value: object) -> Keywords:
    found = arguments.instance(value, Keywords, "keywords", 'Keywords, such as Keywords(low_level=("Station 14",))')
    return Keywords(
        arguments.texts(found.high_level, "keywords.high_level"), arguments.texts(found.low_level, "keywords.low_level")
    )


def _history(value: object) -> tuple[Message, ...]:
    takes = 'a list of Messages, such as Message("user", "Who?")'
    found = tuple(
        arguments.instance(one, Message, "each of history", takes) for one in arguments.several(value, "history", takes)
    )
    for one in found:
        arguments.text(one.content, "the content of a message in history")
        arguments.text(one.role, "the role of a message in history")
        if one.pictures:
            raise arguments.wrong("history", "messages without pictures", one.pictures)
    return found


_OWN: dict[str, Callable[[object], Any]] = {
    "keywords": _keywords,
    "history": _history,
    "filters": lambda one: arguments.instance(one, Filters, "filters", 'Filters, such as Filters(sources="handbook")'),
    "as_of": arguments.day_of,
    "explain": lambda one: arguments.instance(one, bool, "explain", "True or False"),
    "user_prompt": partial(arguments.text, name="user_prompt"),
    "system_prompt": partial(arguments.text, name="system_prompt"),
    "timeout": arguments.seconds_of,
}
"""Options that are not settings, and their checks."""


def _unused(
    given: Mapping[str, Any], settings: QuerySettings, mode: Mode, *, reranker: str, by_rules: bool
) -> list[str]:
    """Return notes on the given options without effect."""
    said = {name for name, value in given.items() if value is not False}
    said -= {name for name, nothing in _SAYS_NOTHING.items() if given.get(name) == nothing}
    notes = []
    if ignored := sorted(said & mode.ignores):
        notes.append(f"mode {settings.mode} does not use {', '.join(ignored)}")
    if unranked := sorted(said & {"rerank", "min_rerank_score"} - mode.ignores):
        if reranker == "none":
            notes.append(f"no reranker is configured (rerank.provider), so {' and '.join(unranked)} does nothing")
        elif not settings.rerank:
            notes.append("min_rerank_score does nothing where rerank is false")
        elif reranker == "chat" and "min_rerank_score" in said:
            notes.append("min_rerank_score does nothing where rerank.provider is chat, which gives no scores")
    if by_rules and not mode.retrieves:
        notes.append(f"the offline model (llm.provider) answers from a context, and mode {settings.mode} has none")
    elif by_rules and (unread := sorted(said & _INSTRUCTIONS)):
        notes.append(f"the offline model (llm.provider) answers by rules, which do not read {' and '.join(unread)}")
    elif {"response_type", "system_prompt"} <= said - mode.ignores:
        notes.append("response_type does nothing beside system_prompt, which replaces the instructions that have it")
    left = re.search(r"\{(?:con\w+_data|response_type|user_prompt)\}", given.get("system_prompt", ""))
    if left and mode.retrieves:
        notes.append(f"system_prompt is sent as it is, with {left[0]}; leave it out, the context comes after")
    return notes
