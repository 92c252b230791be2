"""`python -m lightrag_dagster` is `lightrag-dagster`."""

from lightrag_dagster.cli import console

console()
