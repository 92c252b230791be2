"""Variables `LIGHTRAG_…` that name no setting: pydantic ignores them, so a misspelt budget would be none at all."""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches

from pydantic import BaseModel

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings.former import former_variables

PREFIX = "LIGHTRAG_"

_NO_SETTINGS = {"config", "failure_webhook", "dagster_url", "environment", "image"}
"""The variables of docs/settings.md, docs/operations.md and deploy/compose.yaml that are read as they are."""

_OF_OTHERS = re.compile(
    # LightRAG itself, which may run beside this package
    r"(kv|vector|graph|doc_status)_storage|api_(key|prefix|url)|parser|runtime_target|gunicorn_mode|main_process"
    r"|default_ui|performance_timing_logs|force_reparse_\w+|setup_\w+"
    # Kubernetes, of each service whose name begins with `lightrag-`
    r"|(\w+_)?(service_host|service_port(_\w+)?|port(_\d+_(tcp|udp|sctp)(_(proto|port|addr))?)?)"
)


def check_variables(settings: type[BaseModel]) -> None:
    """Refuse a variable that names no setting; raises SettingsError with the nearest that is."""
    known = settings.model_fields.keys() | former_variables().keys()
    for variable in os.environ:
        name = variable.lower().removeprefix(PREFIX.lower())
        if name == variable.lower() or name in _NO_SETTINGS or _OF_OTHERS.fullmatch(name):
            continue
        section, inside, _ = name.partition("__")
        if section in known:
            continue
        names = list(settings.model_fields) if inside else list(_names(settings))
        (nearest,) = get_close_matches(section, names, 1, 0)
        if inside:
            raise SettingsError(
                f"{variable} is a setting of the section {section!r}, which does not exist; did you mean {nearest!r}?"
            )
        raise SettingsError(f"{variable} names no setting; did you mean {PREFIX}{nearest.upper()}? Else unset it")


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the names of settings in variables."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _names(field.annotation, f"{prefix}{name}__")
        else:
            yield prefix + name
