"""The command line `lightrag-dagster`."""

import sys

from rich.console import Console

from lightrag_dagster.errors import LightRAGError


def main() -> None:
    """Run the command line; an error that a person can cause is one line and exit code 2."""
    from lightrag_dagster.cli.app import app

    try:
        app()
    except LightRAGError as error:
        console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)
        console.print(f"error: {error}", style="red")
        sys.exit(2)
