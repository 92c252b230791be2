"""The command line `lightrag-dagster`."""

import signal


def main() -> None:
    """Run the command line; always raises SystemExit."""
    from lightrag_dagster.cli.app import app

    app()


def console() -> None:
    """Run the command line as the process's only work; the installed command.

    While it is imported, Ctrl-C ends it as any program, without a traceback.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lightrag_dagster.cli.exits import leave
    from lightrag_dagster.cli.lean_imports import leave_out_unused

    leave_out_unused()
    leave(main)
