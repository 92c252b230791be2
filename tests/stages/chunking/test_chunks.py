import random
import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core import identity, progress
from lightrag_dagster.errors import TokenizerError
from lightrag_dagster.schemas import CHUNKS, RAW_DOCUMENTS
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.raw_documents import text_hash

SMALL = ChunkingSettings(size=8, overlap=2)


def documents(*contents: str, media_type: str = "text/plain", status: str = "processed") -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "source": "s",
                "doc_id": f"doc-{number:05}",
                "path": f"{number:05}.md",
                "title": "",
                "content": content,
                "content_hash": "",
                "content_length": len(content),
                "summary": "",
                "media_type": media_type,
                "status": status,
                "modified_at": datetime(2026, 1, 1, tzinfo=UTC),
            }
            for number, content in enumerate(contents)
        ],
        schema=RAW_DOCUMENTS,
    )


def test_a_short_document_is_one_chunk() -> None:
    content = "A short document."
    assert chunk_documents(documents(content), ChunkingSettings(), "r").to_pylist() == [
        {
            "source": "s",
            "chunk_id": identity.chunk_id(content, None),
            "doc_id": "doc-00000",
            "path": "00000.md",
            "chunk_index": 0,
            "content": content,
            "tokens": 4,
            "char_start": 0,
            "char_end": len(content),
            "heading": None,
            "context": None,
            "page": None,
            "page_end": None,
            "text_hash": text_hash({"content_hash": "", "media_type": "text/plain", "pages": None}),
            "recipe": "r",
        }
    ]


@pytest.mark.parametrize(
    ("status", "count"), [("processed", 1), ("duplicate", 1), ("stale", 1), ("failed", 0), ("empty", 0)]
)
def test_documents_with_text_have_chunks(status: str, count: int) -> None:
    assert chunk_documents(documents("text", status=status), SMALL).num_rows == count


def test_the_same_text_is_the_same_chunk_wherever_it_stands() -> None:
    chunks = chunk_documents(documents("same text", "same text"), SMALL)
    assert len(set(chunks["chunk_id"].to_pylist())) == 1
    assert chunks["doc_id"].to_pylist() == ["doc-00000", "doc-00001"]


MARKDOWN = """Before any heading there is an introduction.

# Guide

Some words that are in the guide.

```
# not a heading, only a comment in code
```

## Install

Some words on how to install it."""


PAGES = ("One two three four.", "Five six seven eight.", "", "Nine.")


def paged() -> pa.Table:
    """Return a document of four pages, the third empty."""
    table = documents("\n\n".join(filter(None, PAGES)))
    pages = pa.array([[0, 21, 44, 44]], RAW_DOCUMENTS.field("pages").type)
    return table.set_column(RAW_DOCUMENTS.get_field_index("pages"), RAW_DOCUMENTS.field("pages"), pages)


@pytest.mark.parametrize("size", range(1, 20))
def test_a_chunk_names_the_pages_it_starts_and_ends_on(size: int) -> None:
    chunks = chunk_documents(paged(), ChunkingSettings(size=size, overlap=0)).to_pylist()
    for chunk in chunks:
        words = chunk["content"].split("\n\n")
        first, last = PAGES[chunk["page"] - 1], PAGES[chunk["page_end"] - 1]
        assert (words[0] in first, words[-1] in last) == (True, True)
        assert len(words) == sum(bool(one) for one in PAGES[chunk["page"] - 1 : chunk["page_end"]])
    assert (chunks[0]["page"], chunks[-1]["page_end"]) == (1, 4)


@pytest.mark.parametrize("media_type", ["text/markdown", "text/html"])
def test_a_chunk_has_the_heading_in_force_where_it_starts(media_type: str) -> None:
    chunks = chunk_documents(
        documents(MARKDOWN, media_type=media_type), ChunkingSettings(size=4, overlap=0)
    ).to_pylist()
    guide, install = MARKDOWN.index("# Guide"), MARKDOWN.index("## Install")
    for chunk in chunks:
        start = chunk["char_start"]
        assert chunk["heading"] == (None if start < guide else "Guide" if start < install else "Guide > Install")
        assert chunk["chunk_id"] == identity.chunk_id(chunk["content"], chunk["heading"])
    assert {chunk["heading"] for chunk in chunks} == {None, "Guide", "Guide > Install"}


def test_plain_text_has_no_headings() -> None:
    assert set(chunk_documents(documents(MARKDOWN), SMALL)["heading"].to_pylist()) == {None}


def test_a_heading_is_part_of_the_identity() -> None:
    chunks = chunk_documents(
        documents("# A\n\nsame", "# B\n\nsame", media_type="text/markdown"), ChunkingSettings(size=2, overlap=0)
    )
    same = [row for row in chunks.to_pylist() if row["content"] == "same"]
    assert [row["heading"] for row in same] == ["A", "B"]
    assert same[0]["chunk_id"] != same[1]["chunk_id"]


def test_an_empty_table_has_no_chunks() -> None:
    assert chunk_documents(RAW_DOCUMENTS.empty_table(), SMALL).equals(CHUNKS.empty_table())


def test_an_unknown_encoding_is_an_error() -> None:
    with pytest.raises(TokenizerError, match="'nonsense'"):
        chunk_documents(documents("text"), ChunkingSettings(encoding="nonsense"))


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=200), max_size=4))
def test_every_chunk_is_a_span_of_its_document(contents: list[str]) -> None:
    chunks = chunk_documents(documents(*contents, media_type="text/markdown"), SMALL)
    assert chunks.schema.equals(CHUNKS)
    seen: dict[str, int] = {}
    for chunk in chunks.to_pylist():
        document = contents[int(chunk["path"][:5])]
        assert chunk["content"] == document[chunk["char_start"] : chunk["char_end"]]
        assert chunk["chunk_index"] == seen.get(chunk["path"], 0)
        seen[chunk["path"]] = chunk["chunk_index"] + 1
    assert len(seen) == sum(bool(content.strip()) for content in contents)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    table = documents(*(f"# Title {number}\n\n" + "one two three " * number for number in range(300)))
    assert chunk_documents(table, SMALL, threads=threads).equals(chunk_documents(table, SMALL))


@pytest.mark.long
def test_ten_thousand_small_documents_take_seconds() -> None:
    choice = random.Random(1)
    words = [f"word{number}" for number in range(2000)]
    contents = [f"# Title {number}\n\n" + " ".join(choice.choices(words, k=80)) for number in range(10_000)]
    table = documents(*contents, media_type="text/markdown")
    reports: list[tuple[str, int, int]] = []
    started = time.process_time()
    with progress.listening(lambda *report: reports.append(report)):
        chunks = chunk_documents(table, ChunkingSettings())
    assert time.process_time() - started < 10  # CPU-seconds; 2 measured
    assert chunks["content"].to_pylist() == contents
    assert reports[-1] == ("chunks", 10_000, 10_000)
    assert [done for _, done, _ in reports] == sorted(done for _, done, _ in reports)
