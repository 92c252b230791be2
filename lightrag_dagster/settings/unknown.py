"""The message about a name that no setting has, with the nearest one of its section."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel


def unknown_setting(settings: type[BaseModel], place: Sequence[int | str]) -> str:
    """Return the message about a place in the settings that does not exist, with the nearest name of its section."""
    section = settings
    for part in place[:-1]:  # keys and numbers between are those of a mapping or list of sections
        field = section.model_fields.get(str(part))
        section = next(_models(field.annotation), section) if field else section
    nearest = get_close_matches(str(place[-1]), section.model_fields, 1)
    meant = f"; did you mean {_name([*place[:-1], *nearest])}?" if nearest else ""
    return f"setting {_name(place)} does not exist{meant}"


def _name(place: Sequence[int | str]) -> str:
    return ".".join(map(str, place))


def _models(kind: object) -> Iterator[type[BaseModel]]:
    """Yield the sections in a type, such as the values of a mapping."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _models(inner)
