"""Functions of the user's own, which settings name by a dotted path."""

import hashlib
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightrag_dagster.errors import SettingsError, one_line


def load_function(setting: str, path: str) -> Callable[..., Any]:
    """Import the function that a setting names by its dotted path.

    Raises:
        SettingsError: it cannot be imported or called.
    """
    module, _, name = path.rpartition(".")
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # the module's code may raise any error, or be a script that ends
        raise _not_found(setting, path, f"{type(error).__name__}: {one_line(error)}") from error
    if not callable(function):
        raise _not_found(setting, path, "it is not a function")
    return function


def function_version(setting: str, path: str) -> str:
    """Return a hash of the file that a function is in; the file is not run, but the packages around it are imported.

    Raises:
        SettingsError: there is no such file.
    """
    try:
        found = importlib.util.find_spec(path.rpartition(".")[0])
        file = Path(found.origin).read_bytes() if found and found.origin else None
    except (Exception, SystemExit) as error:
        raise _not_found(setting, path, f"{type(error).__name__}: {one_line(error)}") from error
    if file is None:
        raise _not_found(setting, path, "there is no such module")
    return hashlib.sha256(file).hexdigest()


def _not_found(setting: str, path: str, reason: str) -> SettingsError:
    return SettingsError(
        f"{setting} {path}: {reason}; give the dotted path of a function that Python can import, such as "
        "my_package.module.function"
    )
