"""The nearest vectors of every vector."""

import numpy as np
import pytest

from lightrag_dagster.curation.desk.finder.neighbours import near_pairs


@pytest.mark.parametrize(("rows", "size"), [(0, 8), (1, 8), (2, 8), (40, 300)])
def test_few_vectors_are_compared_whole(rows: int, size: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(rows, size)).astype(np.float16)
    one, other = near_pairs(vectors, 50)
    assert len(one) == rows * (rows - 1) // 2
    assert (one < other).all()


def test_near_vectors_are_found_among_many() -> None:
    draw = np.random.default_rng(0)
    base = draw.normal(size=(2_000, 64)).astype(np.float32)
    vectors = np.concatenate([base, base + 0.1 * draw.normal(size=base.shape).astype(np.float32)])
    found = set(zip(*(places.tolist() for places in near_pairs(vectors, 5)), strict=True))
    assert sum((at, at + 2_000) in found for at in range(2_000)) > 1_900
    assert len(found) <= 5 * len(vectors)


def test_equal_and_empty_vectors_are_divided_too() -> None:
    one, _ = near_pairs(np.zeros((1_000, 16), dtype=np.float32), 5)
    assert 0 < len(one) <= 5_000
