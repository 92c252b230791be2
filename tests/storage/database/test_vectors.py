"""The vector store in SQLite takes little more room than the vectors."""

from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.identity import digest
from lightrag_dagster.storage.database.vectors import VectorStore


@pytest.mark.parametrize("dimensions", [pytest.param(384, marks=pytest.mark.long), 1024, 1536, 3072])
def test_the_file_is_little_longer_than_its_vectors(tmp_path: Path, dimensions: int) -> None:
    vectors = np.random.default_rng(1).random((3_000_000 // dimensions, dimensions), dtype=np.float32)
    keys = [digest(str(number)) for number in range(len(vectors))]
    with VectorStore(tmp_path / "vectors.sqlite") as store:
        for start in range(0, len(keys), 60):
            store.put_many(dict(zip(keys[start : start + 60], vectors[start : start + 60], strict=True)))
    with VectorStore(tmp_path / "vectors.sqlite") as store:
        found = store.get_many(keys)
        assert (np.stack([found[key] for key in keys]) == vectors).all()
    assert (tmp_path / "vectors.sqlite").stat().st_size < 1.15 * vectors.nbytes
