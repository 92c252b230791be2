"""The address of a database; importing it imports none."""

from pathlib import Path

from pydantic import SecretStr

Address = Path | SecretStr
"""A database: the file of SQLite, or the URL of Postgres, which may contain a password."""
