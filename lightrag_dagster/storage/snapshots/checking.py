"""Checks of the databases of a home, for commands that only look."""

from pathlib import Path

from lightrag_dagster.storage.database.engine import Database
from lightrag_dagster.storage.home import Home


def check_databases(home: Home) -> None:
    """Open each database of a home that exists; raises StoreError for one that is damaged or cannot be reached."""
    for address in {home.ledger, home.responses, home.vectors, home.batches, home.decisions}:
        if not isinstance(address, Path) or address.exists():
            Database(address, []).close()
