"""Commands about what is kept: which snapshot is published, which files stay, and copies elsewhere."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lightrag_dagster.cli.options import AsJson, WaitLock
from lightrag_dagster.cli.terminal import console


def rollback(snapshot: Annotated[str, typer.Argument(help="Id or name of the snapshot.")]) -> None:
    """Publish an older snapshot, and hold it until `release`."""
    from lightrag_dagster.cli.snapshots import roll_back

    roll_back(console(), snapshot)


def release() -> None:
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

    run_backup(console(), target)


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


def import_from(
    kind: Annotated[Literal["lightrag"], typer.Argument(help="The system that stored it: LightRAG 1.3 to 1.5.7.")],
    folder: Annotated[Path, typer.Argument(help="Its working directory, or that of a workspace.")],
    source: Annotated[str, typer.Option(help="The source that it becomes: a folder among the sources.")],
    names: Annotated[Path | None, typer.Option(help="CSV for names that were edited there.")] = None,
    same_embedder: Annotated[
        bool, typer.Option("--same-embedder", help="The configured embedder made its vectors: take those of chunks.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what would come in, and what is left to pay.")] = False,
    as_json: AsJson = False,
    _wait_lock: WaitLock = None,
) -> None:
    """Make a source of what another system has stored, with the answers that were paid for there."""
    from lightrag_dagster.cli.importing import Wanted, run_import

    run_import(console(), folder, Wanted(source, names, same_embedder, dry_run, as_json))


COMMANDS = (rollback, release, gc, backup, restore, purge)
