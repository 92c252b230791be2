"""Chunks of unchanged text outlive a change of how text is cut."""

from typing import Any

import pyarrow as pa
import pytest
from lightrag_dagster.stages.chunking.keeping import keep_chunks

from lightrag_dagster.core import identity
from lightrag_dagster.schemas import RAW_DOCUMENTS, SORT_KEYS
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from tests.support import FLOOD, RIVER

SMALL, LARGE = ChunkingSettings(size=16, overlap=4), ChunkingSettings()


def documents(**texts: str) -> pa.Table:
    """Return rows of RAW_DOCUMENTS, one a path."""
    rows: list[dict[str, Any]] = [
        dict.fromkeys(RAW_DOCUMENTS.names, "")
        | {
            "source": "notes",
            "doc_id": identity.document_id("notes", path),
            "path": path,
            "content": text,
            "content_hash": identity.text_digest(text),
            "content_length": len(text),
            "media_type": "text/plain",
            "status": "processed",
            "modified_at": 0,
        }
        for path, text in texts.items()
    ]
    return pa.Table.from_pylist(rows, schema=RAW_DOCUMENTS)


def ordered(chunks: pa.Table) -> pa.Table:
    return chunks.sort_by([(column, "ascending") for column in SORT_KEYS["chunks"]])


@pytest.mark.parametrize(
    ("now", "same", "anew"),
    [
        ({"a": RIVER, "b": FLOOD}, ["a", "b"], []),
        ({"a": RIVER, "b": f"{FLOOD} More."}, ["a"], ["b"]),
        ({"a": RIVER}, ["a"], []),
        ({"renamed": RIVER, "b": FLOOD}, ["renamed", "b"], []),
        ({"a": RIVER, "copy": RIVER, "b": FLOOD, "c": "New."}, ["a", "copy", "b"], ["c"]),
        ({"a": FLOOD, "b": RIVER}, ["a", "b"], []),
        ({}, [], []),
    ],
)
def test_unchanged_text_keeps_its_chunks(now: dict[str, str], same: list[str], anew: list[str]) -> None:
    before, current = documents(a=RIVER, b=FLOOD), documents(**now)

    kept, left = keep_chunks(current, before, chunk_documents(before, SMALL))

    expected = chunk_documents(documents(**{path: now[path] for path in same}), SMALL)
    assert ordered(kept).equals(ordered(expected))
    assert sorted(left["path"].to_pylist()) == sorted(anew)
    assert left.schema.equals(RAW_DOCUMENTS)
    assert chunk_documents(left, LARGE).num_rows == len(anew)
