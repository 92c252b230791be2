"""Dagster's SQLite files in less time: what it makes anew for every event and every file is kept, since it is equal.

For each event Dagster makes an engine of SQLAlchemy, which compiles each statement once more; for each new file Alembic
reads a hundred files of revisions. That is a quarter of the time of a run of a small home.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage.event_log.in_memory import InMemoryEventLogStorage
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from sqlalchemy import Connection, Engine, create_engine

_FILES_AT_ONCE = 16  # a home has four, and one more for each run


@contextmanager
def kept_between_uses() -> Iterator[None]:
    """Keep engines and revisions for the block."""
    read = ScriptDirectory.from_config
    revisions: dict[str | None, ScriptDirectory] = {}
    engines: dict[str, Engine] = {}

    def from_config(config: Config) -> ScriptDirectory:
        place = config.get_main_option("script_location")
        return revisions[place] if place in revisions else revisions.setdefault(place, read(config))

    def kept_engine(url: str, **options: Any) -> Engine:
        if url not in engines:
            if len(engines) == _FILES_AT_ONCE:
                engines.clear()
            engines[url] = create_engine(url, **options)
        return engines[url]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(ScriptDirectory, "from_config", staticmethod(from_config))
        monkeypatch.setattr(InMemoryEventLogStorage, "_connect", _connect_in_memory)
        for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
            monkeypatch.setattr(module, "create_engine", kept_engine)
        yield


@contextmanager
def _connect_in_memory(storage: Any) -> Iterator[Connection]:
    """Connect as Dagster does, with the one of its pragmas that counts in memory."""
    with storage._db_lock, storage._engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        yield connection
