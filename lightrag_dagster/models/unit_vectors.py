"""Validation of the vectors of a model, and scaling to unit length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import EmbeddingError


def unit_vectors(rows: Sequence[npt.NDArray[np.floating[Any]]], count: int, dimensions: int, who: str) -> Vectors:
    """Return unit vectors, shape (count, dimensions).

    Raises:
        EmbeddingError: there are more or fewer, or one has another length, or is zero or not finite.
    """
    if len(rows) != count:
        raise EmbeddingError(f"{who} returned {len(rows)} vectors for {count} texts; choose another model")
    wrong = next((len(row) for row in rows if len(row) != dimensions), None)
    if wrong is not None:
        raise EmbeddingError(
            f"{who} returns vectors of {wrong} dimensions in place of {dimensions}; set LIGHTRAG_EMBEDDING__"
            f"DIMENSIONS={wrong}, and move a snapshot to it by `lightrag-dagster backfill --knowledge-base`"
        )
    vectors = np.stack(rows).astype(np.float64)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingError(f"{who} returned a vector that is zero or not finite; run again or choose another model")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
