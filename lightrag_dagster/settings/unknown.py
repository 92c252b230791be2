"""Names that no setting has, and the nearest one that is.

Pydantic refuses them in files. It ignores variables `LIGHTRAG_…`, so that a misspelt budget would be none at all.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from lightrag_dagster.errors import SettingsError

PREFIX = "LIGHTRAG_"

# Variables that are no settings: of LightRAG's own set-up; of the command line, of messages and of deploy/.
_SET_UP = ("setup_embedding_provider", "setup_rerank_provider")
_OTHERS = ("config", "failure_webhook", "dagster_url", "environment", "image", *_SET_UP)

_LONG = 8  # letters; shorter parts of names are like too much
_ALIKE = 0.8
"""The similarity from which a name is a misspelt setting; those of LightRAG itself and of Kubernetes are less alike."""


def unknown_name(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """Return the message about a place in settings, or a schema, that does not exist, with the nearest name there."""
    section: type[Any] = model
    for part in place[:-1]:  # keys and numbers between are those of a mapping or list of sections
        field = _fields(section).get(str(part))
        section = next(_models(field.annotation), section) if field else section
    near = nearest(str(place[-1]), _fields(section))
    meant = f"; did you mean {_dotted([*place[:-1], near])}?" if near else ""
    return f"{_dotted(place)} does not exist{meant}"


def first_fault(error: ValidationError, taken: type[BaseModel]) -> str:
    """Return the first fault of what is no `taken`, without the value, which may be a question or a token."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_name(taken, first["loc"])
    return ": ".join(filter(None, (_dotted(first["loc"]), first["msg"].removeprefix("Value error, "))))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to another, one of the same letters before all; None if none is."""
    near = get_close_matches(name, known, 3)
    return next((one for one in near if sorted(one) == sorted(name)), near[0] if near else None)


def _fields(model: type[Any]) -> dict[str, FieldInfo]:
    """Return the fields by the names that files have; those of a dataclass are its arguments."""
    if is_dataclass(model):
        return {field.name: FieldInfo(annotation=Any) for field in fields(model)}
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _dotted(place: Sequence[int | str]) -> str:
    return ".".join(map(str, place))


def _models(kind: object) -> Iterator[type[Any]]:
    """Yield the sections in a type, such as the values of a mapping."""
    if isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind)):
        yield kind
    for inner in get_args(kind):
        yield from _models(inner)


def check_variables(settings: type[BaseModel]) -> None:
    """Refuse a variable that names nearly a setting, or a section that is none; raises SettingsError with the nearest.

    Others are left alone: LightRAG itself may run beside this package, and Kubernetes has variables for each service.
    """
    kinds = {name: field.annotation for name, field in settings.model_fields.items()}
    sections = [name for name, kind in kinds.items() if get_origin(kind) is dict or any(_models(kind))]
    names = [*_names(settings), *_OTHERS]
    # By its last part too, of the first section that has it.
    known = {name.rpartition("__")[2]: name for name in reversed(names)} | {name: name for name in names}
    for variable in os.environ:
        name = variable.lower().removeprefix(PREFIX.lower())
        section, inside, setting = name.partition("__")
        if name == variable.lower():
            continue
        if setting.startswith("max_cost_") and not os.environ[variable]:
            raise SettingsError(f"{variable} has no value, which would be no limit; give one, or unset it")
        if section in sections or name in (*settings.model_fields, *_OTHERS):
            continue
        if inside:
            near = next((one for one in sections if section in one), *get_close_matches(section, sections, 1, 0))
            raise SettingsError(
                f"{variable} is a setting of the section {section!r}, which does not exist; did you mean {near!r}?"
            )
        stem = name.removesuffix("_file").removesuffix("_path")
        alike = {stem} & known.keys() or (known if len(stem) >= _LONG else names)
        for near in get_close_matches(stem, alike, 1, _ALIKE):
            raise SettingsError(
                f"{variable} names no setting; did you mean {PREFIX}{known[near].upper()}? Else unset it"
            )


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the names of settings in variables."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names(field.annotation, f"{prefix}{name}__")
        else:
            yield prefix + name
