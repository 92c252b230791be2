"""The nearest vectors of every vector, in time that grows as their number.

Vectors are halved again and again by the plane between two of them, until a part is small enough to be compared whole.
Two near vectors may lie on either side of one plane, so it is done with several planes drawn. The draw depends on the
number of vectors alone.

Random projection trees: Dasgupta and Freund, "Random projection trees and low dimensional manifolds", 2008.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.protocols import Vectors

Places = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.floating]
"""Vectors in any precision."""

_TREES = 6
_LEAF = 256
_FOLDED = 256
"""Numbers that longer vectors are folded to for the search, by sums with random signs."""


def near_pairs(vectors: Numbers, nearest: int) -> tuple[Places, Places]:
    """Return the places of every vector and its nearest others, each pair once, the smaller place first."""
    folded = _fold(vectors)
    rows = len(folded)
    others = np.full((rows, nearest), -1, dtype=np.int32)
    alike = np.full((rows, nearest), -2, dtype=np.float32)
    for tree in range(_TREES if rows > _LEAF else 1):
        for leaf in _leaves(folded, np.random.default_rng((tree, rows))):
            others[leaf], alike[leaf] = _nearer(folded, leaf, others[leaf], alike[leaf])
    one = np.repeat(np.arange(rows, dtype=np.int64), nearest)
    other = others.ravel().astype(np.int64)
    pairs = np.unique((np.minimum(one, other) * rows + np.maximum(one, other))[other >= 0])
    return (pairs // max(rows, 1)).astype(np.int32), (pairs % max(rows, 1)).astype(np.int32)


def _fold(vectors: Numbers) -> Vectors:
    rows, size = vectors.shape
    if size <= _FOLDED:
        return _unit(vectors.astype(np.float32))
    draw = np.random.default_rng(size)
    signs = draw.choice(np.array([-1, 1], dtype=np.float32), size)
    order = draw.permutation(size)
    starts = np.arange(0, size, -(-size // _FOLDED))
    folded = np.empty((rows, len(starts)), dtype=np.float32)
    for start in range(0, rows, 4096):
        part = vectors[start : start + 4096].astype(np.float32)
        folded[start : start + 4096] = np.add.reduceat((part * signs)[:, order], starts, axis=1)
    return _unit(folded)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return found


def _leaves(vectors: Vectors, draw: np.random.Generator) -> Iterator[Places]:
    waiting = [np.arange(len(vectors), dtype=np.int32)]
    while waiting:
        part = waiting.pop()
        if len(part) <= _LEAF:
            yield part
            continue
        one, other = draw.choice(part, 2, replace=False)
        order = np.argsort(vectors[part] @ (vectors[one] - vectors[other]), kind="stable")
        middle = len(part) // 2
        waiting += [part[order[:middle]], part[order[middle:]]]


def _nearer(vectors: Vectors, leaf: Places, others: Places, alike: Vectors) -> tuple[Places, Vectors]:
    """Return the nearest of those known before and those in the leaf, and how alike they are."""
    within = vectors[leaf] @ vectors[leaf].T
    np.fill_diagonal(within, -2)
    few = min(others.shape[1], len(leaf) - 1)
    best = np.argpartition(-within, few - 1, axis=1)[:, :few] if few > 0 else np.empty((len(leaf), 0), dtype=int)
    new, new_alike = leaf[best], np.take_along_axis(within, best, axis=1)
    known = (new[:, :, None] == others[:, None, :]).any(axis=2)
    every = np.hstack([others, new])
    every_alike = np.hstack([alike, np.where(known, np.float32(-2), new_alike)])
    order = np.argsort(-every_alike, axis=1, kind="stable")[:, : others.shape[1]]
    kept = np.take_along_axis(every, order, axis=1)
    kept_alike = np.take_along_axis(every_alike, order, axis=1)
    return np.where(kept_alike > -2, kept, -1), kept_alike
