"""Shards: a large table of a source is several files, by the first bits of the ids that its rows are sorted by.

Ids end with a hash, so shards are about equally large, and the files in order are the sorted table. Their number shows
in no version: that is a hash over the hashes of leaves, which are the rows whose ids have the same first two digits.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest

ROWS = 8_192
"""Documents or chunks of a shard; there are twice as many shards when there are more."""

BYTES = 16 << 20
"""Bytes of the files that are read into one shard of documents."""

MOST = 256
"""Shards of a table at the most: one for each leaf."""

_LEAF_DIGITS = 2


class Shard(NamedTuple):
    """One shard `among` a power of two: the ids whose hashes begin with the bits of `number`."""

    number: int = 0
    among: int = 1

    @property
    def leaves(self) -> tuple[str, str]:
        """The first and the last leaf."""
        width = MOST // self.among
        return f"{self.number * width:02x}", f"{(self.number + 1) * width - 1:02x}"

    def of(self, rows: pa.Table, key: str) -> pa.Table:
        """Return the rows of a table that belong to the shard, by their ids in a column."""
        if self.among == 1:
            return rows
        first, last = self.leaves
        leaves = leaves_of(rows[key])
        return rows.filter(pc.and_(pc.greater_equal(leaves, first), pc.less_equal(leaves, last)))


def shards(rows: int, size: int = 0) -> list[Shard]:
    """Return the shards of a table, by its rows and the bytes it was made from."""
    count = min(MOST, 1 << (max(-(-rows // ROWS), -(-size // BYTES), 1) - 1).bit_length())
    return [Shard(number, count) for number in range(count)]


def leaves_of(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the leaf of each id: the first two digits of the hash behind its prefix."""
    if len(ids) == 0:
        return pa.chunked_array([], pa.string())
    begin = ids[0].as_py().find("-") + 1  # all ids of a table have the same prefix
    return pc.utf8_slice_codeunits(ids, begin, begin + _LEAF_DIGITS)


def leaf_versions(rows: pa.Table, key: str) -> dict[str, str]:
    """Return leaf → hash of its rows, of a table that is sorted by its ids."""
    return {leaf: _hash(part) for leaf, part in _runs(rows, key)}


def version_of(schema: pa.Schema, leaves: dict[str, str]) -> str:
    """Return the version of a table whose leaves have these hashes."""
    return digest([[field.name, str(field.type)] for field in schema], sorted(leaves.items()))


def _runs(rows: pa.Table, key: str) -> Iterator[tuple[str, pa.Table]]:
    leaves = leaves_of(rows[key]).combine_chunks()
    if len(leaves):
        runs = pc.run_end_encode(leaves)
        start = 0
        for end, leaf in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            yield leaf, rows.slice(start, end - start)
            start = end


def _hash(rows: pa.Table) -> str:
    # Copied, since a slice is written with more than its own rows, and in one piece.
    (batch,) = rows.take(np.arange(rows.num_rows)).combine_chunks().to_batches()
    return hashlib.sha256(batch.serialize()).hexdigest()
