"""Groups of commands about stored things: snapshots, responses and vectors, and batches."""

from typing import Annotated

import typer

from lightrag_dagster.cli.terminal import console

snapshots_app = typer.Typer(help="List snapshots, compare two, and give them names.", no_args_is_help=False)


@snapshots_app.callback(invoke_without_command=True)
def snapshots(context: typer.Context) -> None:
    """List snapshots; the commands below compare and name them."""
    if context.invoked_subcommand is None:
        from lightrag_dagster.cli.snapshots import list_snapshots

        list_snapshots(console(soft_wrap=True))


@snapshots_app.command("diff")
def snapshots_diff(
    before: Annotated[str, typer.Argument(help="Id or name of a snapshot.")],
    after: Annotated[str | None, typer.Argument(help="Another; the published one unless given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every name as JSON.")] = False,
) -> None:
    """Show the documents, entities and relations that two snapshots differ in."""
    from lightrag_dagster.cli.snapshots import diff

    diff(console(quotes=True), before, after, as_json=as_json)


@snapshots_app.command("pin")
def snapshots_pin(
    name: Annotated[str, typer.Argument(help="The name.")],
    snapshot: Annotated[str, typer.Argument(help="Id of the snapshot.")],
) -> None:
    """Give a snapshot a name by which it can be opened; it is kept until `unpin`."""
    from lightrag_dagster.cli.snapshots import pin

    pin(console(soft_wrap=True), name, snapshot)


@snapshots_app.command("unpin")
def snapshots_unpin(name: Annotated[str, typer.Argument(help="The name.")]) -> None:
    """Remove a name from a snapshot."""
    from lightrag_dagster.cli.snapshots import pin

    pin(console(soft_wrap=True), name, None)


cache_app = typer.Typer(help="Stored responses and vectors, which were paid for.", no_args_is_help=True)


@cache_app.command("stats")
def cache_stats() -> None:
    """Show the numbers of stored responses and vectors, and their cost."""
    from lightrag_dagster.cli.cache import show_stats

    show_stats(console())


@cache_app.command("prune")
def cache_prune(
    unused_for: Annotated[str, typer.Option(help="Remove those not used for this time, such as 90d.")] = "90d",
    dry_run: Annotated[bool, typer.Option(help="Only print the numbers to remove.")] = False,
) -> None:
    """Remove responses and vectors that were not used for a long time; they are paid for again if needed."""
    from lightrag_dagster.cli.cache import run_prune

    run_prune(console(), unused_for, dry_run=dry_run)


batch_app = typer.Typer(help="Batches at the language model's provider.", no_args_is_help=True)


@batch_app.command("list")
def batch_list(
    every: Annotated[bool, typer.Option("--all", help="Also those whose responses are stored.")] = False,
) -> None:
    """List the batches that were submitted, with their progress."""
    from lightrag_dagster.cli.batch import list_batches

    list_batches(console(), every=every)


@batch_app.command("cancel")
def batch_cancel(
    batch: Annotated[list[str] | None, typer.Argument(help="Names of batches, or their first characters.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are not finished.")] = False,
) -> None:
    """Cancel batches; the responses they have are stored, and no source waits for them."""
    from lightrag_dagster.cli.batch import cancel_batches

    cancel_batches(console(soft_wrap=True), batch or [], every=every)
