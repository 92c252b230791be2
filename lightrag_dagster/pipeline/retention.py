"""Retention that works by itself: after a publication, what no kept snapshot needs is removed."""

import logging
from contextlib import suppress
from typing import NamedTuple

from pydantic import Field
from rich import filesize

from lightrag_dagster.errors import LightRAGError, one_line
from lightrag_dagster.settings import RetentionSettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS, Lock
from lightrag_dagster.storage.records import Record, read_record, write_record
from lightrag_dagster.storage.snapshots import gc
from lightrag_dagster.storage.snapshots.generations import remove_graph
from lightrag_dagster.storage.snapshots.snapshots import now

_log = logging.getLogger(__name__)


class Collection(Record):
    """`collected.json`: the last garbage collection of a home."""

    mended_by = "`lightrag-dagster gc` writes it again"

    snapshots: int = 0
    table_versions: int = 0
    bytes_removed: int = 0
    bytes_kept: int = 0
    skipped: list[str] = Field(default=[], description="Sources that were being ingested")
    failed: str = Field(default="", description="Why it failed")
    at: str = Field(default="", description="UTC, ISO 8601")

    def __str__(self) -> str:
        """Return the sentence for people, which is empty when there is nothing to say."""
        if self.failed:
            return f"gc failed: {self.failed}; the snapshot is published, and `lightrag-dagster gc` tries again"
        size, counts = filesize.decimal(self.bytes_removed), (self.snapshots, self.table_versions)
        found = f"{size} (old snapshots: {counts[0]:,}, table versions: {counts[1]:,})"
        busy = f"; those of {', '.join(self.skipped)} stay, being ingested" if self.skipped else ""
        return f"gc removed {found}; {filesize.decimal(self.bytes_kept)} are kept{busy}" if self.at else ""


def collect_after_publication(home: Home, retention: RetentionSettings) -> Collection | None:
    """Remove what no kept snapshot needs, if the settings say so; return the result if there is something to say.

    While every snapshot is kept, nothing is listed, and the graph databases of replaced ones alone go. A failure is
    returned and logged: what was published stays.
    """
    if not retention.automatic:
        return None
    try:
        with building(home, STEP_SECONDS) as lock:
            last = last_collection(home)  # a damaged record is said
            if not gc.garbage_generations(home, gc.kept_snapshots(home, retention)):
                for one in gc.replaced_graphs(home):
                    remove_graph(one)
                if last and last.failed:
                    home.collected.unlink()
                return None
            found = _result(gc.collect_garbage(home, retention, dry_run=False, lock=lock))
            _write(home, found)
            return found
    except (LightRAGError, OSError) as error:
        found = Collection(failed=one_line(error), at=now())
        _log.warning("%s", found)
        with suppress(LightRAGError, OSError):
            _write(home, found)
        return found


def collect_by_hand(home: Home, retention: RetentionSettings, lock: Lock, *, dry_run: bool) -> gc.Garbage:
    """Remove what no kept snapshot needs, and record it, under the builder's lock; raises as `collect_garbage`."""
    garbage = gc.collect_garbage(home, retention, dry_run=dry_run, lock=lock)
    if not dry_run:
        _write(home, _result(garbage))
    return garbage


class Disk(NamedTuple):
    """The number of kept snapshots, their bytes with tables and vectors, and the bytes that `gc` could remove."""

    snapshots: int
    kept_bytes: int
    removable_bytes: int


def disk_of(home: Home, retention: RetentionSettings) -> Disk:
    """Return what is kept in a home; it takes no lock, so that it is about the home as it is while others build.

    Raises:
        StoreError: a record is damaged, or a file was removed meanwhile.
    """
    garbage = gc.find_garbage(home, gc.kept_snapshots(home, retention))
    return Disk(len(garbage.kept), garbage.bytes_after, garbage.bytes_removed)


def last_collection(home: Home) -> Collection | None:
    """Return the last collection of a home; raises StoreError when the record is damaged."""
    return read_record(home.collected, Collection)


def _result(garbage: gc.Garbage) -> Collection:
    return Collection(
        snapshots=len(garbage.generations),
        table_versions=garbage.table_versions,
        bytes_removed=garbage.bytes_removed,
        bytes_kept=garbage.bytes_after,
        skipped=garbage.skipped,
        at=now(),
    )


def _write(home: Home, found: Collection) -> None:
    write_record(home.collected, found)
