"""The Dagster instance of a home, so that runs of the command line show in the UI."""

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import dagster as dg
import yaml
from rich import filesize
from sqlalchemy.exc import SQLAlchemyError

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.orchestration.connections import kept_open
from lightrag_dagster.storage.files.atomic import disk_errors
from lightrag_dagster.storage.home import Home

_CONFIG = files(__package__).joinpath("dagster.yaml").read_text("utf-8")
_LEAST_ROOM = 8_000_000
# A command keeps no output of steps, which is empty: to capture it would start four processes a job.
_OF_A_COMMAND: Any = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
        "config": {},
    }
}


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open the home's Dagster instance for a command; create it, without telemetry or sign-up dialog, if there is none.

    The `dagster.yaml` of another $DAGSTER_HOME is its owner's, and what it says of concurrency stays as it is; where it
    has none, the command alone has these settings.

    Raises:
        StoreError: it cannot be opened, its folder cannot be written, then or in the block, or its disk is almost full.
    """
    folder, config = home.dagster, home.dagster / "dagster.yaml"
    with disk_errors(f"the Dagster instance in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        is_own = folder.resolve() == home.own_dagster.resolve()
        if is_own and (free := shutil.disk_usage(folder).free) < _LEAST_ROOM:  # else Dagster prints its SQL
            left = filesize.decimal(free)
            raise StoreError(f"{folder} has {left} left on its disk, and a run needs 8 MB; make room, and run again")
        if is_own and not config.exists():
            config.write_text(_CONFIG, encoding="utf-8")
    logging.getLogger("dagster").setLevel(logging.ERROR)  # off the terminal; the UI has all lines
    try:
        settings = _OF_A_COMMAND if config.exists() else yaml.safe_load(_CONFIG) | _OF_A_COMMAND
        with kept_open(folder), _opened(str(folder), settings) as instance:
            yield instance
    except Exception as error:
        if (found := _of_database(error)) is None:
            raise
        other = ", or take a path without %" if "%" in str(folder) else ""
        mend = f"make room on the disk, or the folder writable{other}"
        if not isinstance(found, sqlite3.Error):  # it is a database elsewhere
            mend = f"start it, or correct `storage` in {config}"
        raise StoreError(
            f"Dagster cannot keep the records of {folder}: {one_line(found)}; {mend}, and run again"
        ) from error


def _of_database(error: Exception) -> BaseException | None:
    """Return the error of a database that an error is about, or None."""
    # Its class is of a package that may not be installed.
    found = error.__cause__ if type(error).__name__ == "DagsterPostgresException" else error
    return (getattr(found, "orig", None) or found) if isinstance(found, SQLAlchemyError | sqlite3.Error) else None


def _opened(folder: str, settings: dict[str, Any]) -> dg.DagsterInstance:
    """Open the instance of a folder; raises StoreError for a file that Dagster refuses, without its secrets."""
    try:
        # Its name says less than it does: the instance of any folder, with settings beside those of its file.
        return dg.DagsterInstance.local_temp(folder, settings)
    except Exception as error:  # of Dagster, YAML or a class that the file names
        if _of_database(error):  # its message is that of the block
            raise
        raise StoreError(
            f"Dagster cannot open its instance in {folder} ({type(error).__name__}): correct its dagster.yaml, or set "
            f"what that names; `DAGSTER_HOME={folder} dagster instance info` says more"
        ) from error
