"""The lines about failed, skipped and cut rows that `run` and `status` print."""

from collections.abc import Collection, Iterable

from rich.console import Console

from lightrag_dagster.pipeline.losses import Loss


def print_losses(
    console: Console, losses: Iterable[Loss], warnings: Iterable[str], snapshot: str | None, withheld: Collection[str]
) -> None:
    """Print a line for each kind of loss, with the command that lists the rows, and one for each warning.

    The command reads a `snapshot`, by default the published one, which has no row of the sources that are `withheld`.
    """
    options = f" --snapshot {snapshot}" if snapshot else ""
    for loss in losses:
        apart = [source for source in loss.sources if source in withheld]
        console.print(f"{loss}", style="yellow", end="", highlight=False)
        if len(apart) < len(loss.sources):
            console.print(f': lightrag-dagster sql{options} "{loss.query}"', end="", soft_wrap=True, highlight=False)
        why = f"; these rows of {', '.join(apart)} are in no snapshot, since it is withheld" if apart else ""
        console.print(why, soft_wrap=True, highlight=False)
    for warning in warnings:
        console.print("warning", style="yellow", end="")
        console.print(f": {warning}", soft_wrap=True, highlight=False)
