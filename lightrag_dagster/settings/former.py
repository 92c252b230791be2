"""Names that settings had: each is read for one more version, with a warning that says what to write instead."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple


class Former(NamedTuple):
    """A name with dots that a setting had, `*` standing for a name that the user chose.

    `now` is today's name, or None if the setting was removed; `write` says what to write instead, and `convert` makes
    today's value of the old one. Version `until` of the package no longer knows the name.
    """

    name: str
    now: str | None
    write: str
    until: str
    convert: Callable[[Any], Any] = lambda value: value


FORMER = (
    Former(
        "named_sources.*.glob",
        "named_sources.*.include",
        'write `include: ["*.md"]` in place of `glob: "*.md"`',
        "0.2.0",
        lambda pattern: [pattern],
    ),
)


def with_todays_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the names that they have today, and warn of each that has another.

    If a setting is given by both names, today's wins.
    """
    found = deepcopy(dict(values)) if any(any(_taken(values, one.name.split("."))) for one in FORMER) else dict(values)
    for one in FORMER:
        for place in list(_taken(found, one.name.split("."))):
            value = _inside(found, place[:-1]).pop(place[-1])
            if found.get(place[0]) == {}:  # the section may be gone, too
                del found[place[0]]
            chosen = (part for part, known in zip(place, one.name.split("."), strict=True) if known == "*")
            now = [next(chosen) if part == "*" else part for part in one.now.split(".")] if one.now else []
            said = f"is called {'.'.join(now)} now" if now else "was removed"
            warnings.warn(
                f"setting {'.'.join(place)} {said}; {one.write}; version {one.until} no longer reads it",
                FutureWarning,
                stacklevel=2,
            )
            if now:
                _inside(found, now[:-1]).setdefault(now[-1], one.convert(value))
    return found


def former_variables() -> dict[str, Any]:
    """Return, as nested sections, the settings that environment variables give by a former name."""
    found: dict[str, Any] = {}
    for one in FORMER:
        value = os.environ.get("LIGHTRAG_" + one.name.replace(".", "__").upper())
        if value:
            *sections, last = one.name.split(".")
            _inside(found, sections)[last] = value
    return found


def _taken(values: object, name: list[str]) -> Iterator[list[str]]:
    """Yield the places at which something has a name."""
    if isinstance(values, Mapping):
        for key in list(values) if name[0] == "*" else [name[0]]:
            if key in values:
                rest = _taken(values[key], name[1:]) if name[1:] else [[]]
                yield from ([key, *inner] for inner in rest)


def _inside(values: dict[str, Any], sections: list[str]) -> dict[str, Any]:
    """Return a section, made if it is missing; an unread one in place of a section that was given as an object."""
    for section in sections:
        found = values.setdefault(section, {})
        values = found if isinstance(found, dict) else {}
    return values
