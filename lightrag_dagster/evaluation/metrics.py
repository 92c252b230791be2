"""Retrieval metrics: recall@k, precision@k, mean reciprocal rank and nDCG@k, of chunks in the order of the context."""

import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.storage.duckdb import open_duckdb

HITS = pa.schema([("mode", pa.string()), ("question", pa.string()), ("rank", pa.int32()), ("item", pa.string())])
"""The items found: the chunk at `rank` (from 1) by its id, and again for each document (source/path) it occurs in."""

GOLD = pa.schema([("question", pa.string()), ("item", pa.string())])


def measure(asked: pa.Table, hits: pa.Table, gold: pa.Table, k: int) -> pa.Table:
    """Return mode, question, recall, recall_at_2, precision, mrr, ndcg for every row of `asked`, sorted; all in 0..1.

    recall is the share of the gold items among the first k chunks, or two, precision the share of the first k chunks
    that hold a gold item, mrr one over the rank of the first that does, at any rank. ndcg discounts each gold item by
    the logarithm of its rank, divided by the value of the ideal order (Järvelin and Kekäläinen, 2002), with gains of 0
    and 1.

    Args:
        asked: mode, question.
        hits: as HITS.
        gold: as GOLD, without repetition.
        k: number of chunks that count.
    """
    # One thread, so that sums are the same to the last bit.
    with open_duckdb(threads=1) as connection:
        for name, table in (("asked", asked), ("hits", hits), ("gold", gold)):
            connection.register(name, table)
        return connection.sql(read_sql(__package__, "sql/metrics"), params={"k": k}).to_arrow_table()
