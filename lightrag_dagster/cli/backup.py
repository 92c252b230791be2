"""Commands `backup` and `restore`."""

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


def run_backup(console: Console, target: str) -> None:
    """Copy the home to a folder or bucket, and print the numbers of files and rows."""
    home = Home.of(load_settings())
    with one_step(console, home.name, "backup of"):
        copied = back_up(home, target)
    _print(console, copied, f"{home.name} is backed up in {target}")
    for line in (*lost_stores(home), *unfinished_purge(home)):
        console.print(line)


def run_restore(console: Console, source: str) -> int:
    """Copy a backup to the home, print the numbers of files and rows, and name damaged files.

    Those of the snapshot are compared with their records, on a disk by their content, in a bucket by their sizes; not
    those of another layout, which the next run takes over. Return the exit code: 1 if one is damaged.
    """
    home = Home.of(load_settings())
    with one_step(console, home.name, "restore of"):
        copied = restore(source, home)
    _print(console, copied, f"{home.name} is restored from {source}")
    home.files.refresh()
    if not is_todays(read(home)):
        console.print("It has the layout of another version of this package; `lightrag-dagster run` takes it over.")
        return 0
    damaged = find_published_damage(home, verify=home.bucket is None)
    for damage in damaged:
        console.print(f"damaged in the backup: {damage}")
    if damaged:
        console.print("`lightrag-dagster run --verify` builds these again, from the sources and the stored answers")
    return int(bool(damaged))


def _print(console: Console, copied: Copied, done: str) -> None:
    stored = ", ".join(f"{copied.rows[table]:,} stored {table}" for table in ("responses", "vectors"))
    console.print(f"{done}: {copied.files:,} files of {filesize.decimal(copied.size)}, {stored}")
    console.print(f"Published: {copied.snapshot_id or 'nothing that can be read'}")
