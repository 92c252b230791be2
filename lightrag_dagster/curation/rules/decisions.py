"""Decisions of people about the entities and relations of a knowledge base.

A decision names entities as documents do, in any spelling: never by ids or displayed names, which decisions change. It
speaks of the whole entity that the name belongs to after all merges and renames.
"""

import datetime
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lightrag_dagster.core.identity import digest, entity_id
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.names import MAX_NAME_CHARACTERS, normalise_name, normalise_type, visible
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.settings.unknown import first_fault

Action = Literal["merge", "apart", "rename", "retype", "describe", "remove", "split", "add"]

ACTIONS: tuple[Action, ...] = get_args(Action)

_MOST_NAMES: dict[Action, int] = {"rename": 1, "retype": 1, "split": 1, "describe": 2, "remove": 2, "add": 2}
_NEEDED: dict[Action, str] = {"rename": "into", "retype": "type", "describe": "text", "split": "into"}
_ALLOWED: dict[Action, set[str]] = {
    "merge": {"into", "sources"},
    "apart": set(),
    "rename": {"into", "sources"},
    "retype": {"type", "sources", "scopes"},
    "describe": {"text", "sources", "scopes"},
    "remove": set(),
    "split": {"into", "sources", "paths", "types"},
    "add": {"type", "text", "keywords", "scopes"},
}
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MOST_TEXT_CHARACTERS = 20_000
_VALUES = ("into", "type", "text", "keywords", "sources", "paths", "types", "scopes")


class Decision(BaseModel):
    """One decision, with its author, date and reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Action
    names: tuple[str, ...] = Field(
        min_length=1,
        description="One entity; for merge and apart all; for describe, remove and add also the two ends of a relation",
    )
    into: str | None = Field(
        default=None, min_length=1, description="The name from now on, for merge, rename and split"
    )
    type: str | None = Field(default=None, min_length=1, description="The type, for retype and add")
    text: str | None = Field(default=None, min_length=1, description="The description, for describe and add")
    keywords: str | None = Field(default=None, description="Keywords of a relation that is added")
    sources: tuple[str, ...] = Field(
        default=(), description="Sources whose mentions split takes; else sources that the text is taken from"
    )
    paths: tuple[str, ...] = Field(default=(), description="Paths whose mentions split takes, like 2024/*")
    types: tuple[str, ...] = Field(default=(), description="Types of the mentions that split takes")
    scopes: tuple[str, ...] = Field(default=(), description="Scopes whose readers see what a person wrote")
    reason: str | None = None
    author: str | None = None
    date: datetime.date | None = None

    @field_validator("names", "into", "type", mode="after")
    @classmethod
    def _on_one_line(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if isinstance(value, tuple):
            return tuple(" ".join(one.split()) for one in value)
        return None if value is None else " ".join(value.split())

    @field_validator("sources", "paths", mode="after")
    @classmethod
    def _are_composed(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(composed, values))

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        action, number = self.action, len(self.names)
        named = (*self.names, *([] if self.into is None else [self.into]))
        if any(not name.strip() for name in named):
            raise ValueError(f"{action} has an empty name")
        texts = (*named, self.type, self.text, self.keywords, self.reason, self.author, *self.sources, *self.paths)
        for text in (*texts, *self.types, *self.scopes):
            _require_text(text)
        if number > _MOST_NAMES.get(action, number):
            raise ValueError(f"{action} takes at most {_MOST_NAMES[action]} names, not {number}")
        if number < 2 and (action == "apart" or (action == "merge" and self.into is None)):
            raise ValueError(f"{action} takes two names at least")
        given = {name for name in _VALUES if getattr(self, name)}
        if (needed := _NEEDED.get(action)) and needed not in given:
            raise ValueError(f"{action} needs {needed!r}")
        if action == "split" and not given & {"sources", "paths", "types"}:
            raise ValueError("split needs 'sources', 'paths' or 'types' of the mentions that it takes")
        if useless := sorted(given - _ALLOWED[action] - ({"type"} if action == "add" and number == 1 else set())):
            raise ValueError(f"{action} does not take {useless[0]!r}")
        if action == "add" and (wrong := "type" if number == 2 else "keywords") in given:
            raise ValueError(f"add does not take {wrong!r} of {'a relation' if number == 2 else 'an entity'}")
        return self

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids that its names have without any decision."""
        return tuple(map(entity_id, self.names))

    @property
    def content(self) -> str:
        """A hash of what it decides, without author, date and reason; only `add` has an order of names."""
        names = self.names if self.action == "add" else sorted(self.ids)
        values = set(_VALUES) if self.scopes else {*_VALUES} - {"scopes"}
        return digest(self.action, names, self.model_dump(mode="json", include=values))


def _require_text(text: str | None) -> None:
    if text is None:
        return
    if not text.strip():
        raise ValueError("a value is blank")
    if _NO_TEXT.search(text):
        raise ValueError(f"{text[:60]!r} holds a character that no text has")


class Placed(NamedTuple):
    """A decision and its place: a file and line, or a number of the table of decisions."""

    decision: Decision
    place: str


def check_decision(place: str, **values: object) -> Placed:
    """Return a decision from untrusted values.

    Raises:
        DecisionError: it is not one, or a value is too long or has characters that are not seen; the message names the
            place.
    """
    try:
        decision = Decision.model_validate({name: value for name, value in values.items() if value})
    except ValidationError as error:
        said = {
            "names": "a decision names an entity",
            # Spreadsheets write them as their country does.
            "date": f"{values.get('date')!r} is not a date; write it as 2026-11-28",
            "action": f"there is no action {values.get('action')!r}, only {', '.join(ACTIONS)}",
        }
        where = error.errors()[0]["loc"]
        fault = said.get(str(where[0])) if len(where) == 1 else None
        raise DecisionError(f"{place}: {fault or first_fault(error, Decision)}") from None
    _check_bounds(decision, place)
    spelt = {"names": tuple(map(_as_read, decision.names)), "into": decision.into and _as_read(decision.into)}
    decision = decision.model_copy(update=spelt)
    check_names(decision, place)
    return Placed(decision, place)


def _as_read(name: str) -> str:
    """Return a name as it is read in an answer, where no other spelling reaches the documents' names."""
    return normalise_name(name) or name


def type_as_read(text: str | None) -> str:
    """Return a type as it is read in an answer, and as filters, settings and scopes name it; `other` for none."""
    return normalise_type(text or "other") or str(text).lower()


def check_names(decision: Decision, place: str) -> None:
    """Check that a merge has each name once; raises DecisionError, since it would have no effect."""
    seen: dict[str, str] = {}
    for name in decision.names if decision.action == "merge" else ():
        base = entity_id(name)
        if base in seen:
            raise DecisionError(f"{place}: {seen[base]!r} and {name!r} are spellings of one name; write it once")
        seen[base] = name


def _check_bounds(decision: Decision, place: str) -> None:
    """Check new values, which are shown and stored as names and texts of documents are."""
    names = (*decision.names, decision.into, decision.type, *decision.types, decision.author)
    for name in filter(None, names):
        if len(name) > MAX_NAME_CHARACTERS:
            most = f"the most are {MAX_NAME_CHARACTERS}"
            raise DecisionError(f"{place}: {name[:60]!r}… has {len(name):,} characters; {most}")
        if visible(name) != name:
            raise DecisionError(f"{place}: {name[:60]!a} holds a character that is not seen; write it without")
    for text in filter(None, (decision.text, decision.keywords, decision.reason)):
        if len(text) > _MOST_TEXT_CHARACTERS:
            most = f"the most are {_MOST_TEXT_CHARACTERS:,}"
            raise DecisionError(f"{place}: {text[:60]!r}… has {len(text):,} characters; {most}")


def version_of(decisions: Sequence[Placed]) -> str:
    """Return a hash of the decisions, independent of their order and place; empty without any."""
    contents = sorted(one.decision.content for one in decisions)
    return digest(*contents) if contents else ""
