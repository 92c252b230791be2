"""The terminal that commands print on."""

from rich.console import Console


def console(*, soft_wrap: bool = False) -> Console:
    """Return a console that prints every text as it is: `[note]` in a document is no markup."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)
