"""Commands about what is kept: which snapshot is published, which files stay, and copies elsewhere."""

from typing import Annotated

import typer

from lightrag_dagster.cli.options import WaitLock
from lightrag_dagster.cli.terminal import console


def rollback(
    snapshot: Annotated[str, typer.Argument(help="Id or name of the snapshot.")], _wait_lock: WaitLock = None
) -> None:
    """Publish an older snapshot, and hold it until `release`."""
    from lightrag_dagster.cli.snapshots import roll_back

    roll_back(console(), snapshot)


def release(_wait_lock: WaitLock = None) -> None:
    """Publish the newest snapshot again, after a rollback."""
    from lightrag_dagster.cli.snapshots import release

    release(console())


def gc(
    dry_run: Annotated[
        bool, typer.Option(help="Only print the snapshots that stay, and the numbers to remove.")
    ] = False,
    _wait_lock: WaitLock = None,
) -> None:
    """Remove files that no kept snapshot uses."""
    from lightrag_dagster.cli.snapshots import collect

    collect(console(), dry_run=dry_run)


def backup(
    target: Annotated[str, typer.Argument(help="An empty folder, or a URI such as s3://bucket/prefix.")],
    _wait_lock: WaitLock = None,
) -> None:
    """Copy the home, including its database, to another place."""
    from lightrag_dagster.cli.backup import run_backup

    raise typer.Exit(run_backup(console(), target))


def restore(source: Annotated[str, typer.Argument(help="Folder or URI of a backup.")]) -> None:
    """Copy a backup to an empty home; with another home or database than before, this is a move."""
    from lightrag_dagster.cli.backup import run_restore

    raise typer.Exit(run_restore(console(), source))


def purge(
    removed: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE[/PATH]", help="Deleted documents or sources; without any, what edits removed."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove; otherwise only show the data to remove.")] = False,
) -> None:
    """Remove every trace of documents, sources or texts that are deleted already; older snapshots go too."""
    from lightrag_dagster.cli.purge import run_purge

    run_purge(console(), removed or [], yes=yes)


COMMANDS = (rollback, release, gc, backup, restore, purge)
