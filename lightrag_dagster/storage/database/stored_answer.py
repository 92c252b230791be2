"""The quick way to one stored answer, which saves a repeated question the import of SQLAlchemy and of the SDK."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from lightrag_dagster.core.protocols import ChatResponse
from lightrag_dagster.storage.database.address import Address

_SELECT = """
    SELECT text, finish_reason, input_tokens, output_tokens, cached_input_tokens, cost_usd
    FROM responses WHERE key = ? AND last_used >= ?
"""


def stored_answer(address: Address, key: str) -> ChatResponse | None:
    """Return an answer from the SQLite file of a response store, or None where the store itself must be asked.

    That is so for an answer which is not there or was not used today yet, for Postgres, and after any error.
    """
    if not isinstance(address, Path):
        return None
    try:
        with closing(sqlite3.connect(f"{address.as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute(_SELECT, (key, int(time.time() // 86_400))).fetchone()
    except sqlite3.Error:
        return None
    return ChatResponse(*row) if row else None
