"""The history of runs that have ended: all of it forgotten, or the old part of it.

Dagster's storage is used directly, since no public function names the run of the last event of each kind and partition,
deletes the checks of a run, or knows the SQLite files.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster._core.storage.event_log import SqlEventLogStorage, SqlEventLogStorageTable, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from sqlalchemy import Table, func, select

from lightrag_dagster.assets.metadata import ACCOUNT_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.partitions import is_own
from lightrag_dagster.assets.runs import is_of
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home

_BUSY_SECONDS = 20.0
_AT_ONCE = 500
_MOST = 500
"""Runs that are deleted at once: a tick of a sensor has a minute."""


def forget_runs(instance: dg.DagsterInstance, namespace: Namespace, account: str) -> int:
    """Delete the runs of this knowledge base with their events and logs, except those of an account; return how many.

    Dagster's SQLite files are deleted too; another database keeps deleted rows until it is vacuumed.
    """
    ended = [run for run in instance.get_runs() if run.is_finished and is_of(instance, namespace, run)]
    runs = [run.run_id for run in ended if run.tags.get(ACCOUNT_TAG) != account]
    _delete(instance, runs)
    for file in _files(instance):
        with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            (kept, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if kept:
            raise StoreError(f"{file} is read by another process; end Dagster's web server and daemon, and run again")
    return len(runs)


def prune_daily(instance: dg.DagsterInstance, home: Home, namespace: Namespace, retention: RetentionSettings) -> str:
    """Prune the runs once a day, unless the settings forbid it; return a sentence if there is something to say.

    A failure ends nothing, since publication is more important.
    """
    if not (retention.automatic and is_own(instance, home)):
        return ""
    stamp, today = home.own_dagster / "pruned_on", datetime.now(UTC).date().isoformat()
    try:
        if stamp.exists() and stamp.read_text(encoding="utf-8") == today:
            return ""
        pruned = prune_runs(instance, home, namespace, retention.runs_days, most=_MOST)
        if pruned < _MOST:
            stamp.write_text(today, encoding="utf-8")
    except Exception as error:  # of Dagster's storage too
        return f"old runs were not deleted from Dagster's history: {one_line(error)}; the next run tries again"
    old = f"{counted(pruned, 'run', 'runs')} older than {retention.runs_days:g} days"
    return f"deleted from Dagster's history: {old}" if pruned else ""


def prune_runs(
    instance: dg.DagsterInstance,
    home: Home,
    namespace: Namespace,
    days: float,
    *,
    dry_run: bool = False,
    most: int | None = None,
) -> int:
    """Delete the old runs of this knowledge base from the home's own instance; return their number.

    A run stays that has not ended, or has the last materialisation or check, or the last attempt, of a partition. An
    instance in another folder is left alone.

    Args:
        instance: Dagster's instance.
        home: The home.
        namespace: That of the knowledge base; runs of others stay.
        days: The age from which a run is old.
        dry_run: Only count them.
        most: The maximum number to delete, the oldest ones.
    """
    if not is_own(instance, home):
        return 0
    old = dg.RunsFilter(created_before=datetime.now(UTC) - timedelta(days=days))
    latest = _latest(instance)
    runs = [
        run.run_id
        for run in instance.get_runs(old)
        if run.is_finished and run.run_id not in latest and is_of(instance, namespace, run)
    ][::-1][:most]
    if runs and not dry_run:
        _delete(instance, runs)
    return len(runs)


def _latest(instance: dg.DagsterInstance) -> set[str]:
    """Return the runs of the last event of each kind, and of the last check, of each partition of each asset."""
    storage, found = instance.event_log_storage, set[str]()
    if not isinstance(storage, SqlEventLogStorage):
        raise StoreError(f"{type(storage).__name__} is not known; set retention.automatic to false")
    events, checks = SqlEventLogStorageTable.c, AssetCheckExecutionsTable.c
    groups = {
        SqlEventLogStorageTable: (events.asset_key, events.partition, events.dagster_event_type),
        AssetCheckExecutionsTable: (checks.asset_key, checks.check_name, checks.partition),
    }
    with storage.index_connection() as connection:
        for table, group in groups.items():
            last = select(func.max(table.c.id)).where(table.c.asset_key.is_not(None)).group_by(*group)
            found.update(connection.execute(select(table.c.run_id).where(table.c.id.in_(last))).scalars())
    return found


def _delete(instance: dg.DagsterInstance, runs: Sequence[str]) -> None:
    """Delete runs with their events, checks, logs and files."""
    storage = instance.event_log_storage
    if isinstance(storage, SqlEventLogStorage):
        table: Table = AssetCheckExecutionsTable
        for first in range(0, len(runs), _AT_ONCE):
            with storage.index_connection() as connection:
                connection.execute(table.delete().where(table.c.run_id.in_(runs[first : first + _AT_ONCE])))
    for run in runs:
        storage.delete_events(run)
        instance.compute_log_manager.delete_logs(prefix=[run])
        # A command keeps no logs, so that its manager knows none of those of the daemon.
        atomic.remove(Path(instance.storage_directory()) / run)
        if isinstance(storage, SqliteEventLogStorage):
            of_run = Path(storage.path_for_shard(run))
            for path in of_run.parent.glob(f"{of_run.name}*"):
                path.unlink(missing_ok=True)
        instance.run_storage.delete_run(run)  # last, so that an unfinished deletion is found again


def _files(instance: dg.DagsterInstance) -> list[Path]:
    storage = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):
        return []
    index = Path(storage.path_for_shard("index"))
    return [index, *index.parent.parent.glob("*.db")]
