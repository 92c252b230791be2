"""The Dagster instance of a home, so that what the command line runs shows in the UI."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError

from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.storage.home import Home

_CONFIG = """\
telemetry:
  enabled: false
nux:
  enabled: false
run_monitoring:
  enabled: true
python_logs:
  managed_python_loggers: [lightrag_dagster]
  python_log_level: INFO
concurrency:
  pools:
    granularity: run
    default_limit: 1
"""
# Runs wait in the queue, not steps: a step that was killed would hold its place for ever.


@contextmanager
def open_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open the home's Dagster instance; create it, without telemetry or sign-up dialog, when there is none.

    Raises:
        StoreError: its folder cannot be written, then or in the block.
    """
    folder = home.dagster
    config = folder / "dagster.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not config.exists():
            config.write_text(_CONFIG, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write the Dagster instance in {folder}: {error.strerror}") from error
    quiet_logs()
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            yield instance
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = one_line(getattr(error, "orig", None) or error)
        raise StoreError(
            f"Dagster cannot keep its records in {folder}: {cause}; make room on the disk, or the folder writable, and "
            "run again"
        ) from error


def quiet_logs() -> None:
    """Keep Dagster's own log lines off the terminal; the UI has them."""
    logging.getLogger("dagster").setLevel(logging.ERROR)
