"""Variables `LIGHTRAG_…` that name no setting: pydantic ignores them, so a misspelt budget would be none at all."""

import os
from collections.abc import Iterator
from difflib import get_close_matches

from pydantic import BaseModel

from lightrag_dagster.errors import SettingsError

PREFIX = "LIGHTRAG_"

_ALIKE = 0.8
"""The similarity from which a name is a misspelt setting; those of LightRAG itself and of Kubernetes are less alike."""


def check_variables(settings: type[BaseModel]) -> None:
    """Refuse a variable that names nearly a setting, or a section that is none; raises SettingsError with the nearest.

    Others are left alone: LightRAG itself may run beside this package, and Kubernetes has variables for each service.
    """
    for variable in os.environ:
        name = variable.lower().removeprefix(PREFIX.lower())
        section, inside, _ = name.partition("__")
        if name == variable.lower() or section in settings.model_fields:
            continue
        if inside:
            (nearest,) = get_close_matches(section, settings.model_fields, 1, 0)
            raise SettingsError(
                f"{variable} is a setting of the section {section!r}, which does not exist; did you mean {nearest!r}?"
            )
        for nearest in get_close_matches(section, _names(settings), 1, _ALIKE):
            raise SettingsError(f"{variable} names no setting; did you mean {PREFIX}{nearest.upper()}? Else unset it")


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the names of settings in variables."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names(field.annotation, f"{prefix}{name}__")
        else:
            yield prefix + name
