"""Functions of the user's own, which settings name by a dotted path."""

import hashlib
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightrag_dagster.core.installed import naming
from lightrag_dagster.errors import SettingsError

_NEXT_STEP = "; give the dotted path of a function that Python can import, such as my_package.module.function"


def load_function(setting: str, path: str) -> Callable[..., Any]:
    """Import the function that a setting names by its dotted path.

    Raises:
        SettingsError: it cannot be imported or called.
    """
    module, _, name = path.rpartition(".")
    with naming(f"{setting} {path}", SettingsError, _NEXT_STEP):
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    if not callable(function):
        raise SettingsError(f"{setting} {path}: it is not a function{_NEXT_STEP}")
    return function


def function_version(setting: str, path: str) -> str:
    """Return a hash of the file that a function is in; the file is not run, but the packages around it are imported.

    Raises:
        SettingsError: there is no such file.
    """
    with naming(f"{setting} {path}", SettingsError, _NEXT_STEP):
        found = importlib.util.find_spec(path.rpartition(".")[0])
        file = Path(found.origin).read_bytes() if found and found.origin else None
    if file is None:
        raise SettingsError(f"{setting} {path}: there is no such module{_NEXT_STEP}")
    return hashlib.sha256(file).hexdigest()
