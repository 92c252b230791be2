"""The lines about failed, skipped and cut rows that `run` and `status` print."""

from collections.abc import Collection, Iterable

from rich.console import Console

from lightrag_dagster.pipeline.losses import Loss


def print_losses(
    console: Console,
    losses: Iterable[Loss],
    warnings: Iterable[str],
    snapshot: str | None,
    unpublished: Collection[str],
) -> None:
    """Print a line for each kind of loss, with the command that lists the rows, and one for each warning.

    The command reads a `snapshot`, by default the published one, or the newest tables if those of a source are
    `unpublished`.
    """
    for loss in losses:
        published = f" --snapshot {snapshot}" if snapshot else ""
        options = published if set(loss.sources).isdisjoint(unpublished) else " --unpublished"
        console.print(f"{loss}", style="yellow", end="")
        console.print(f': lightrag-dagster sql{options} "{loss.query}"')
    print_warnings(console, warnings)


def print_warnings(console: Console, warnings: Iterable[str]) -> None:
    """Print a line for each warning."""
    for warning in warnings:
        console.print("warning", style="yellow", end="")
        console.print(f": {warning}")
