"""The lines about failed, skipped and cut rows that `run` and `status` print."""

from collections.abc import Iterable

from rich.console import Console

from lightrag_dagster.pipeline.losses import Loss


def print_losses(console: Console, losses: Iterable[Loss], warnings: Iterable[str], snapshot: str | None) -> None:
    """Print a line for each kind of loss, with the command that lists the rows, and one for each warning.

    The command reads a `snapshot`, by default the published one.
    """
    options = f" --snapshot {snapshot}" if snapshot else ""
    for loss in losses:
        console.print(f"{loss}", style="yellow", end="", highlight=False)
        console.print(f': lightrag-dagster sql{options} "{loss.query}"', soft_wrap=True, highlight=False)
    for warning in warnings:
        console.print("warning", style="yellow", end="")
        console.print(f": {warning}", soft_wrap=True, highlight=False)
