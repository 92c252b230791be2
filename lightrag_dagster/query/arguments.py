"""Checks of callers' arguments: each error names the argument, its accepted values, and the value given."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from numbers import Real
from reprlib import Repr
from threading import TIMEOUT_MAX
from typing import TypeVar

from lightrag_dagster.errors import QueryError
from lightrag_dagster.settings.unknown import nearest

Value = TypeVar("Value")

_DAY = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")

_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 60


def shown(value: object) -> str:
    """Return a value as Python writes it, shortened."""
    return _REPR.repr(value)


def wrong(name: str, takes: str, value: object) -> QueryError:
    """Return the error for a value of the wrong kind."""
    return QueryError(f"{name} takes {takes}, not {shown(value)}")


def instance(value: object, kind: type[Value], name: str, takes: str) -> Value:
    """Return a value that must be an instance of a class; raises QueryError."""
    if not isinstance(value, kind):
        raise wrong(name, takes, value)
    return value


def text(value: object, name: str) -> str:
    """Return a text that must be valid Unicode; raises QueryError."""
    found = instance(value, str, name, "text")
    try:
        found.encode()
    except UnicodeEncodeError as error:
        place = f"{shown(found[error.start])} at position {error.start}"
        raise QueryError(f"{name} holds half a character, {place}, which no text in UTF-8 has; remove it") from error
    return found


def texts(value: object, name: str) -> tuple[str, ...]:
    """Return texts from one text or several; raises QueryError."""
    if isinstance(value, str):
        return (text(value, name),)
    return tuple(text(one, f"each of {name}") for one in several(value, name, "a text or a list of texts"))


def several(value: object, name: str, takes: str) -> Iterable[object]:
    """Return a collection that is not a text or a mapping; raises QueryError."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise wrong(name, takes, value)
    return value


def day_of(value: object, name: str = "as_of") -> date:
    """Return a day from a date or its text; of a month or year its first day. Raises QueryError."""
    if isinstance(value, datetime) and value == value:  # unlike pandas.NaT
        return value.date()
    if isinstance(value, date) and value == value:
        return value
    given = value.strip() if isinstance(value, str) else ""
    if _DAY.fullmatch(given):
        with suppress(ValueError):
            return date.fromisoformat(given + "-01-01"[len(given) - 4 :])
    raise wrong(name, "a day, month or year, such as 2024-03-31, 2024-03 or 2024", value)


def seconds_of(value: object) -> float | None:
    """Return a time, if one is given; raises QueryError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise wrong("timeout", "a number of seconds", value)
    if not value <= TIMEOUT_MAX or value <= 0:  # which also refuses what is not a number
        most = f"{TIMEOUT_MAX:.2g} s at most; leave it out for any time"
        raise QueryError(f"timeout is {shown(value)} s; it must be more than 0 s, and {most}")
    return float(value)


def suggested(value: str, known: Iterable[str]) -> str:
    """Return the part of an error that suggests the most similar known name; empty if there is none."""
    found = nearest(value, known)
    return f"; did you mean {found!r}?" if found else ""
