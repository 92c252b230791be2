"""The vector store: every paid vector of an embedding model, by `identity.embedding_key`."""

from collections.abc import Iterable, Mapping

import numpy as np
import sqlalchemy as sa

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.keyed_store import KeyedTable, keyed_table

_PAGE_BYTES = 1 << 16
"""The longest pages of SQLite: ten vectors of 1,536 numbers each, where the usual ones would waste a quarter."""

VECTORS = keyed_table(
    "vectors", sa.Column("vector", sa.LargeBinary, nullable=False), sa.Column("unread", sa.BigInteger)
)


class VectorStore(KeyedTable):
    """Vectors by key: little-endian float32; and how many characters of its text a vector leaves out, if known."""

    def __init__(self, address: Address, *, looking: bool = False) -> None:
        super().__init__(address, VECTORS, page_bytes=_PAGE_BYTES, looking=looking)

    def get_many(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors that are stored, by key, each 1-dimensional and read-only."""
        return {key: np.frombuffer(row.vector, dtype="<f4") for key, row in self._read(keys).items()}

    def unread(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the numbers of characters that stored vectors leave out, by key, where they are known."""
        return {key: row.unread for key, row in self._read(keys).items() if row.unread is not None}

    def put_many(self, vectors: Mapping[str, Vectors], unread: Mapping[str, int] | None = None) -> None:
        """Store vectors by key, and the characters that they leave out; they are durable when this returns."""
        self._write(
            {"key": key, "vector": vector.astype("<f4").tobytes(), "unread": (unread or {}).get(key)}
            for key, vector in vectors.items()
        )
