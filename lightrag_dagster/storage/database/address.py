"""The address of a database; importing it imports none."""

from pathlib import Path

from pydantic import SecretStr

Address = Path | SecretStr
"""A database: the file of SQLite, or the URL of Postgres, which may contain a password."""


def is_there(address: Address) -> bool:
    """Say whether a database can be opened without making it, as opening a missing file of SQLite does."""
    return not isinstance(address, Path) or address.exists()
