"""Backup and restore: a home is copied to a place without a database, and from there to a home of any kind.

Both copy in the same order: data, the tables of the database, records with PUBLISHED as the last one. From the first
moment the target's FORMAT says where the copy comes from, and only when all is there is it that of a home. So a copy
that was killed is never taken for a whole one, and the same command makes it again.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes.views_refresh import refresh_views
from lightrag_dagster.models.batch.ledger import BATCHES, REQUESTS, BatchLedger
from lightrag_dagster.spending.ledger import open_ledger
from lightrag_dagster.spending.tables import KEPT
from lightrag_dagster.storage.backup_files import Contents, local
from lightrag_dagster.storage.database.address import Address, is_there
from lightrag_dagster.storage.database.decisions import DECISIONS, DecisionStore
from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.database.responses import RESPONSES, ResponseStore
from lightrag_dagster.storage.database.table_dump import count_rows, is_empty, load_rows, save_rows
from lightrag_dagster.storage.database.vectors import VECTORS, VectorStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import FORMAT, Format, is_todays, require_not_newer, sign_database
from lightrag_dagster.storage.locking import builder_lock, building, using_batches
from lightrag_dagster.storage.locks.base import require_held
from lightrag_dagster.storage.records import Pointer
from lightrag_dagster.storage.snapshots.snapshots import read_manifest
from lightrag_dagster.storage.snapshots.verify import FILES, find_damage, portable_files, record_files


class Copied(NamedTuple):
    """Number and bytes of the data files that were copied, rows by table, the published snapshot, damaged records."""

    files: int
    size: int
    rows: dict[str, int]
    snapshot_id: str | None
    damaged: list[str]


def back_up(home: Home, where: str, timeout: float | None = None) -> Copied:
    """Copy a home to a folder or bucket that is empty, or has an unfinished backup of the same home.

    Meanwhile nothing is built or published. An ingestion may run on: the backup has its source as if the ingestion had
    been killed.

    Raises:
        BuilderLockedError: another process still built after `timeout` seconds, or used the batches.
        SettingsError: the place cannot be used.
        StoreError: there is no home, or the place is in it or not empty; or one of them refuses.
    """
    source, target = Contents.of_home(home), Contents.of_backup(where)
    if home.holds(Path(where)):
        raise StoreError(f"{where} is in the home; choose an empty place elsewhere")
    if not source.names():
        raise StoreError(f"there is nothing in {home.name}; set LIGHTRAG_HOME to the home that is to be backed up")
    with building(home, timeout), using_batches(home, timeout):
        found = (source.format() or Format(format=FORMAT)).model_copy(update={"database": None})
        with _copying(target, home.name, found):
            # What they lead to is there by now, and cannot be removed while the lock is held.
            records = source.records()
            sizes = target.store_data(source)
            rows = [_save(store, target) for store in _stores(home)]
            records |= {key: portable_files(one) for key, one in records.items() if Path(key).match(f"gen-*/{FILES}")}
            target.store_records(records)
            target.set_format(found)
    return _copied(sizes, rows, records)


def restore(where: str, home: Home, timeout: float | None = None) -> Copied:
    """Copy a backup to a home that is empty, or that an unfinished restore of the same backup has left.

    Raises:
        BuilderLockedError: another process still built in the home after `timeout` seconds.
        SettingsError: the place cannot be used.
        StoreError: the place has no whole backup that this package can read, or the home or its database is not empty,
            or the database is another home's; or one of them refuses.
    """
    source = Contents.of_backup(where)
    target = Contents.of_home(home)
    name = source.place.name
    found = source.format()
    if found is None:
        made = f"`lightrag-dagster --home {name} backup PLACE` makes one of this home"
        step = made if source.place.get("FORMAT") else "name the place of one"
        raise StoreError(f"there is no backup in {name}; {step}")
    require_not_newer(found, name)
    if found.copying is not None:
        command = f"lightrag-dagster --home {found.copying} backup {name}"
        raise StoreError(f"the backup in {name} was not finished; run `{command}` again")
    with builder_lock(home, timeout) as lock, _copying(target, name, found, home):
        records = source.records()
        sizes = target.store_data(source)
        rows = [_load(store, source) for store in _stores(home)]
        require_held(lock)
        target.store_records(records)
        if home.bucket is None and is_todays(found):
            _complete_snapshots(home)
        target.set_format(found)
    return _copied(sizes, rows, records)


@contextmanager
def _copying(target: Contents, source: str, copied: Format, home: Home | None = None) -> Iterator[None]:
    """Mark a target as unfinished for the block, of which an error says that the copies stay.

    If it is a home, its database is signed with the id of what is `copied`.

    Raises:
        StoreError: the target, or its database, is not empty or is another home's; or an error of the block.
    """
    found = target.format()
    if found is None or found.copying != source:
        name, unfinished = target.place.name, found.copying if found else None
        if target.has_files() and unfinished:
            raise StoreError(
                f"{name} has an unfinished copy of {unfinished}; nothing was changed, finish that or empty {name}"
            )
        if target.has_files():
            raise StoreError(f"{name} is not empty; nothing was changed, choose an empty place")
        if home and not all(map(_is_empty, _stores(home))):
            raise StoreError(f"the database of {name} is not empty; nothing was changed, choose an empty one")
    if home and copied.id:
        sign_database(home, copied.id)
    target.set_format(Format(format=copied.format, copying=source))
    try:
        yield
    except StoreError as error:
        said = str(error).removesuffix("; nothing was changed")
        stays = f"what was copied stays in {target.place.name}, and the same command completes it"
        raise type(error)(f"{said}; {stays}") from error


class _Store(NamedTuple):
    address: Address
    open: Callable[[Address], Database]
    tables: Sequence[sa.Table]


def _stores(home: Home) -> list[_Store]:
    """Return the tables of the database; batches before the responses that were collected from them."""
    return [
        _Store(home.batches, BatchLedger, [BATCHES, REQUESTS]),
        _Store(home.ledger, open_ledger, KEPT),
        _Store(home.decisions, DecisionStore, [DECISIONS]),
        _Store(home.vectors, VectorStore, [VECTORS]),
        _Store(home.responses, ResponseStore, [RESPONSES]),
    ]


def _is_empty(store: _Store) -> bool:
    if not is_there(store.address):
        return True
    with store.open(store.address) as database:
        return all(is_empty(database, table) for table in store.tables)


def _save(store: _Store, target: Contents) -> dict[str, int]:
    rows = {}
    with (
        store.open(store.address) if is_there(store.address) else nullcontext() as database,
        temporary_folder("lightrag-copy-") as folder,
    ):
        for table in store.tables:
            path = folder / "rows.parquet"
            rows[table.name] = save_rows(database, table, path)
            target.place.upload(_key(table), path, create=False)
    return rows


def _load(store: _Store, source: Contents) -> dict[str, int]:
    with ExitStack() as opened:
        paths = {table: opened.enter_context(local(source.place, _key(table))) for table in store.tables}
        rows = {table.name: count_rows(path) for table, path in paths.items()}
        if any(rows.values()):
            database = opened.enter_context(store.open(store.address))
            for table, path in paths.items():
                load_rows(database, table, path)
    return rows


def _key(table: sa.Table) -> str:
    return f"database/{table.name}.parquet"


def _complete_snapshots(home: Home) -> None:
    """Make the parts that only a home on disk has: the views of each snapshot, and its records in its `files.json`."""
    with suppress(StoreError):  # of a damaged record, which the next run names
        refresh_views(home)
    for name in [one.name for one in home.generations.glob("gen-*")]:
        if not find_damage(home, name):
            record_files(home, read_manifest(home, name), name)


def _copied(sizes: Mapping[str, int], rows: Sequence[Mapping[str, int]], records: Mapping[str, bytes]) -> Copied:
    published, damaged = None, []
    for name, content in sorted(records.items()):
        try:  # the copy is as damaged as the record; another layout may have other fields
            if name == "PUBLISHED":
                published = Pointer.model_validate_json(content).id
            json.loads(content)
        except ValueError:
            damaged.append(name)
    return Copied(
        files=len(sizes),
        size=sum(sizes.values()),
        rows={table: number for one in rows for table, number in one.items()},
        snapshot_id=published,
        damaged=damaged,
    )
