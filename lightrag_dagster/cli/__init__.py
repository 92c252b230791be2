"""The command line `lightrag-dagster`."""


def main() -> None:
    """Run the command line; always raises SystemExit."""
    from lightrag_dagster.cli.app import app

    app()


def console() -> None:
    """Run the command line as the process's only work; the installed command."""
    from lightrag_dagster.cli.exits import leave
    from lightrag_dagster.cli.lean_imports import leave_out_unused

    leave_out_unused()
    leave(main)
