"""The rows of a source's tables that a scope shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.pipeline.cross_shard import sql
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import ScopeRule
from lightrag_dagster.stages.documents.duplicates import mark_duplicates, originals_of, without_marks
from lightrag_dagster.storage.duckdb import in_memory, view_files

_OF_DOCUMENTS = ("paths", "tags", "access")


class Shown(NamedTuple):
    """Ids of the documents of a source that a scope shows and of their chunks, and the originals among them.

    `originals` has `doc_id` and `original` of each document whose text another one has too. `unlabelled` is the number
    of documents with text that have no value of `access`, where that is asked for.
    """

    documents: pa.Array
    originals: pa.Table
    unlabelled: int
    chunks: pa.Array = pa.array([], pa.string())

    def rows(self, table: str, rows: pa.Table) -> pa.Table:
        """Return the rows of a table that are allowed; which documents are duplicates is judged among these alone."""
        if table == "raw_documents":
            return mark_duplicates(without_marks(_among(rows, "doc_id", self.documents)), self.originals)
        key = ("doc_id", self.documents) if table == "chunks" else ("chunk_id", self.chunks)
        return _among(rows, *key)


def allowed(documents: Sequence[Path], rule: ScopeRule) -> Shown:
    """Return what a rule shows of documents of a source that it allows, in some files; their chunks are to be added."""
    values = {name: list(rule[name]) if name in rule else None for name in _OF_DOCUMENTS}
    with in_memory() as connection:
        view_files(connection, "documents", documents, RAW_DOCUMENTS)
        found = connection.sql(sql("allowed"), params=values).to_arrow_table()
    shown = found.filter(found["passes"])
    unlabelled = pc.sum(found["without"], min_count=0).as_py() if "access" in rule else 0
    return Shown(shown["doc_id"].combine_chunks(), originals_of(shown), unlabelled)


def _among(rows: pa.Table, column: str, ids: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows[column], value_set=ids))
