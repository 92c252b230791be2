"""Commands `backup` and `restore`."""

from collections.abc import Sequence

from rich import filesize
from rich.console import Console

from lightrag_dagster.cli.progress import one_step
from lightrag_dagster.pipeline.backup import Copied, back_up, restore
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.ledger import lost_stores
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import is_todays, read
from lightrag_dagster.storage.purging import unfinished_purge
from lightrag_dagster.storage.snapshots.repair import find_published_damage


def run_backup(console: Console, target: str) -> int:
    """Copy the home to a folder or bucket, print the numbers of files and rows, and name damaged records.

    Return the exit code: 1 if one is damaged.
    """
    home = Home.of(load_settings())
    with one_step(console, home.name, "backup of"):
        copied = back_up(home, target)
    _print(console, copied, f"{home.name} is backed up in {target}")
    for line in (*lost_stores(home), *unfinished_purge(home)):
        console.print(line)
    return _tell_damaged(console, copied.damaged, "home")


def run_restore(console: Console, source: str) -> int:
    """Copy a backup to the home, print the numbers of files and rows, and name damaged records and files.

    Files of the snapshot are compared with their records, on a disk by their content, in a bucket by their sizes; not
    those of another layout, which the next run takes over. Return the exit code: 1 if one is damaged.
    """
    home = Home.of(load_settings())
    with one_step(console, home.name, "restore of"):
        copied = restore(source, home)
    _print(console, copied, f"{home.name} is restored from {source}")
    home.files.refresh()
    if not is_todays(read(home)):
        console.print("It has the layout of another version of this package; `lightrag-dagster run` takes it over.")
        return _tell_damaged(console, copied.damaged, "backup")
    damaged = find_published_damage(home, verify=home.bucket is None)
    for damage in damaged:
        console.print(f"damaged in the backup: {damage}")
    if damaged:
        console.print("`lightrag-dagster run --verify` builds these again, from the sources and the stored answers")
    told = {one.path for one in damaged}
    others = [name for name in copied.damaged if told.isdisjoint(((home.root / name), *(home.root / name).parents))]
    return _tell_damaged(console, others, "backup") or int(bool(damaged))


def _tell_damaged(console: Console, records: Sequence[str], where: str) -> int:
    """Name damaged records, and return the exit code."""
    for name in records:
        console.print(
            f"damaged in the {where}: {name}, which is copied as it is; commands that read it say what mends it"
        )
    return int(bool(records))


def _print(console: Console, copied: Copied, done: str) -> None:
    stored = ", ".join(f"{copied.rows[table]:,} stored {table}" for table in ("responses", "vectors"))
    console.print(f"{done}: {copied.files:,} files of {filesize.decimal(copied.size)}, {stored}")
    unread = "unknown" if "PUBLISHED" in copied.damaged else "nothing yet"
    console.print(f"Published: {copied.snapshot_id or unread}")
