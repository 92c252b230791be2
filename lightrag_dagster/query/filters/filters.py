"""Conditions on the documents that a question may see."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from pydantic import SkipValidation

from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import shown, texts

Texts = Annotated[str | Iterable[str], SkipValidation] | None
"""One text or several; pydantic, which reads filters in requests, would take an object for a list of its keys."""

_MOST = 1_000
"""Most values of a list that is compared with every document, which takes a second for some million comparisons."""


@dataclass(frozen=True)
class Filters:
    """Conditions on the documents that a question may see; all given ones must hold.

    They hide texts, but scores, orders and counts still depend on hidden documents; a scope is what depends on none.

    Lists may be any iterable, and a single text is a list of one; None means no condition. All but `documents` have at
    most 1,000 values.

    Attributes:
        sources: names of sources.
        paths: patterns; the path below the source must match. `*` is any text, slashes too, and all else is itself.
        media_types: such as `text/markdown`, in any case.
        documents: ids of documents.
        authors: names; one of a document's authors must be among them, in any case.
        tags: a document must have one of them, in any case.
        languages: codes of ISO 639, such as `de`, in any case.
        modified_since: the earliest time of modification, UTC unless it says otherwise. A date means its first moment,
            a text is ISO 8601.
        dated_since: the earliest day of the document's own date, which not every document has.
        dated_until: the latest day of that date.

    Raises:
        QueryError: a value is of another kind, a list is empty or too long, or `dated_since` is after `dated_until`.
    """

    sources: Texts = None
    paths: Texts = None
    media_types: Texts = None
    documents: Texts = None
    authors: Texts = None
    tags: Texts = None
    languages: Texts = None
    modified_since: date | str | None = None
    dated_since: date | str | None = None
    dated_until: date | str | None = None

    def __post_init__(self) -> None:
        settle: dict[str, Callable[[Any, str], object]] = {
            "sources": _composed,
            "paths": _composed,
            "media_types": _folded,
            "authors": _composed,
            "tags": _composed,
            "languages": _folded,
            "modified_since": _time,
            "dated_since": _day,
            "dated_until": _day,
        }
        for one in fields(self):
            if (given := getattr(self, one.name)) is not None:
                object.__setattr__(self, one.name, settle.get(one.name, _texts)(given, f"filters.{one.name}"))
        if self.dated_since and self.dated_until and self.dated_since > self.dated_until:  # type: ignore[operator]
            raise QueryError(
                f"filters.dated_since, {self.dated_since}, is after filters.dated_until, {self.dated_until}, so that no"
                " document passes; exchange them"
            )

    def __repr__(self) -> str:
        return f"Filters({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    @property
    def given(self) -> dict[str, Any]:
        """The conditions that are given, by name."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}


def _texts(value: object, name: str) -> tuple[str, ...]:
    found = texts(value, name)
    if not found:
        raise QueryError(f"{name} is empty, so that no document passes; leave it out to see all")
    return found


def _compared(value: object, name: str) -> tuple[str, ...]:
    found = _texts(value, name)
    if len(found) > _MOST:
        raise QueryError(f"{name} has {len(found):,} values, to compare with every document; give {_MOST:,} at most")
    return found


def _composed(value: object, name: str) -> tuple[str, ...]:
    return tuple(map(composed, _compared(value, name)))


def _folded(value: object, name: str) -> tuple[str, ...]:
    return tuple(one.lower() for one in _compared(value, name))


def _time(value: object, name: str) -> datetime:
    found = _parsed(value, name, "a time", datetime.fromisoformat)
    moment = found if isinstance(found, datetime) else datetime.combine(found, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(value: object, name: str) -> date:
    found = _parsed(value, name, "a day", date.fromisoformat)
    return found.date() if isinstance(found, datetime) else found


def _parsed(value: object, name: str, kind: str, parse: Callable[[str], date]) -> date:
    error: ValueError | None = None
    try:
        value = parse(value) if isinstance(value, str) else value
    except ValueError as wrong:
        error = wrong
    if not isinstance(value, date) or value != value:  # pandas.NaT
        raise QueryError(f"{name} {shown(value)} is not {kind}; write it like 2026-01-31") from error
    return value
