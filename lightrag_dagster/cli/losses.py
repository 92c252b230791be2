"""The lines about failed, skipped and cut rows that `run` and `status` print."""

from collections.abc import Collection, Iterable, Iterator
from operator import eq

from rich.console import Console

from lightrag_dagster.pipeline.losses import Loss

_MANY = 4
"""Lines alike of which two are printed."""

_KINDS = 20
"""Kinds of lines that are looked for among all."""


def print_losses(
    console: Console,
    losses: Iterable[Loss],
    warnings: Iterable[str],
    snapshot: str | None,
    unpublished: Collection[str],
    scope: str = "",
) -> None:
    """Print a line for each kind of loss, with the command that lists the rows, and one for each warning.

    The command reads a `snapshot`, by default the published one, or the newest tables if those of a source are
    `unpublished`; within a `scope`, what that shows. Another command asks again about chunks that failed.
    """
    within = f"--scope {scope} " if scope else ""
    for loss in losses:
        published = f" --snapshot {snapshot}" if snapshot else ""
        options = published if set(loss.sources).isdisjoint(unpublished) else " --unpublished"
        console.print(f"{loss}", style="yellow", end="")
        if loss.of.startswith("chunks") and loss.counts.get("failed") and not scope:
            console.print("; `run --retry-failed` asks again", end="")
        console.print(f': lightrag-dagster {within}sql{options} "{loss.query}"')
    print_warnings(console, warnings)


def print_warnings(console: Console, warnings: Iterable[str]) -> None:
    """Print a line for each warning, as `print_few` does."""
    print_few(console, (f"warning: {warning}" for warning in warnings), "yellow")


def print_few(console: Console, lines: Iterable[str], style: str | None = None) -> None:
    """Print lines, of many alike two and the number of the others; what is before the first colon has a style."""
    for line in _few(lines):
        head, colon, rest = line.partition(": ")
        console.print(head, style=style, end="")
        console.print(f"{colon}{rest}")


def _few(lines: Iterable[str]) -> Iterator[str]:
    kinds = list[list[str]]()
    for line in lines:
        kind = next((one for one in kinds[:_KINDS] if _are_alike(one[0], line)), [])
        kinds += [] if kind else [kind]
        kind.append(line)
    for found in kinds:
        yield from found if len(found) < _MANY else found[:2]
        if len(found) >= _MANY:
            yield f"and {len(found) - 2:,} more like these two; --json has all"


def _are_alike(one: str, other: str) -> bool:
    """Say whether three quarters of the words are the same in the same places, as where names and numbers differ."""
    words = one.split(), other.split()
    return len(words[0]) == len(words[1]) and 4 * sum(map(eq, *words)) >= 3 * len(words[0])
