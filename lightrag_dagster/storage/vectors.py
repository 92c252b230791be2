"""The vector store: every paid vector of an embedding model, by `identity.embedding_fingerprint`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.storage.sqlite import KeyedTable


class VectorStore(KeyedTable):
    """Vectors by key: little-endian float32."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "vectors", ("vector BLOB NOT NULL",))

    def get_many(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors that are stored, by key, each 1-dimensional and read-only."""
        return {key: np.frombuffer(row[0], dtype="<f4") for key, row in self._read(keys).items()}

    def put_many(self, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors by key; they are durable when this returns."""
        self._write((key, vector.astype("<f4").tobytes()) for key, vector in vectors.items())
