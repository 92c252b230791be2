"""How fast each method cuts, into how many chunks, and how many of them an edit leaves as they are.

    python -m benchmarks.chunking
    python -m benchmarks.chunking --megabytes 50 --edits 100

Speed: made-up passages in Markdown files of 16 KB are read, then cut by each method, in one process; the rows of both
tables are included. `a CPU` is MB for a second of one processor's time. Edits: in a document of 100 pages of 700
tokens, in sections of two pages, a paragraph gets a sentence more at its start, is removed, or a new one stands before
it, at places spread over the document. Kept are the chunk ids that were there before the edit and still are; the mean
and the fewest of all edits.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.passages import generate
from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.listing_schemas import STAMPS
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import ChunkingSettings, DocumentSettings
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.listing import list_files, rows_of
from lightrag_dagster.stages.documents.reading import read_listed
from lightrag_dagster.stages.documents.sources import Source

VARIANTS: dict[str, dict[str, Any]] = {
    "token": {},
    "character": {"method": "character"},
    "recursive": {"method": "recursive"},
    "recursive, overlap 0": {"method": "recursive", "overlap": 0},
    "structure": {"method": "structure"},
    "sentence": {"method": "sentence"},
    "sentence, overlap 0": {"method": "sentence", "overlap": 0},
    "adaptive": {"method": "adaptive"},
}
PARAGRAPHS_A_FILE = 40
PAGES, PARAGRAPHS_A_PAGE, PAGES_A_SECTION = 100, 7, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--edits", type=int, default=40, help="of each of the three kinds")
    given = parser.parse_args()
    load_tokenizer("o200k_base").count("loaded before anything is timed")
    with tempfile.TemporaryDirectory() as folder:
        documents, seconds = _read(Path(folder), given.megabytes)
    size = sum(len(text.encode()) for text in documents["content"].to_pylist()) / 1e6
    print(f"{documents.num_rows} files of {size:.1f} MB read in {seconds:.1f} s: {size / seconds:.0f} MB/s")
    print(f"{'':22}{'MB/s':>6}{'a CPU':>7}{'with reading':>14}{'chunks':>8}{'tokens':>8}{'kept':>8}{'fewest':>8}")
    for name, settings in VARIANTS.items():
        chunking = ChunkingSettings.model_validate(settings)
        started, worked = time.perf_counter(), time.process_time()
        chunks = chunk_documents(documents, chunking)
        took, worked = time.perf_counter() - started, time.process_time() - worked
        kept = 100 * np.array(list(_kept(chunking, given.edits)))
        print(
            f"{name:22}{size / took:6.1f}{size / worked:7.1f}{size / (took + seconds):14.1f}{chunks.num_rows:8}"
            f"{np.mean(chunks['tokens'].to_numpy()):8.0f}{kept.mean():7.1f}%{kept.min():7.1f}%"
        )


def _read(folder: Path, megabytes: int) -> tuple[pa.Table, float]:
    """Write files and read them into RAW_DOCUMENTS; return the seconds of reading too."""
    paragraphs, written = generate(1_000_000, seed=1), 0
    for number in itertools.count():
        text = markdown(list(itertools.islice(paragraphs, PARAGRAPHS_A_FILE)))
        written += (folder / f"{number:06}.md").write_text(text)
        if written >= megabytes * 1_000_000:
            break
    started = time.perf_counter()
    source = Source("made-up", LocalFolder(folder))
    listed = pa.Table.from_batches([rows_of(source, list_files(source))])
    nothing = (RAW_DOCUMENTS.empty_table(), STAMPS.empty_table())
    documents = read_listed(source, listed, nothing, DocumentSettings())[0]
    return documents, time.perf_counter() - started


def markdown(paragraphs: list[str]) -> str:
    length = PARAGRAPHS_A_PAGE * PAGES_A_SECTION
    sections = [paragraphs[start : start + length] for start in range(0, len(paragraphs), length)]
    titled = [[f"## {section[0].split('.')[0]}", *section] for section in sections]
    return "\n\n".join(itertools.chain(["# Report"], *titled))


def _kept(chunking: ChunkingSettings, edits: int) -> Iterator[float]:
    """Yield the share of chunk ids that each edit keeps."""
    count, length = PAGES * PARAGRAPHS_A_PAGE, PARAGRAPHS_A_PAGE * PAGES_A_SECTION
    *paragraphs, new = generate(count + 1, seed=2)
    before = _ids(markdown(paragraphs), chunking)
    for place in np.linspace(1, count - 2, edits).astype(int).tolist():
        place += place % length == 0  # the first paragraph of a section gives it its heading
        for edited in (f"This was added later. {paragraphs[place]}", "", f"{new}\n\n{paragraphs[place]}"):
            after = _ids(markdown([*paragraphs[:place], edited, *paragraphs[place + 1 :]]), chunking)
            yield len(before & after) / len(before)


def _ids(text: str, chunking: ChunkingSettings) -> set[str]:
    return set(chunk_documents(document_rows({"report.md": text}), chunking)["chunk_id"].to_pylist())


def document_rows(texts: Mapping[str, str]) -> pa.Table:
    """Return RAW_DOCUMENTS of Markdown texts, by path."""
    empty = {
        name: "" for name, kind in zip(RAW_DOCUMENTS.names, RAW_DOCUMENTS.types, strict=True) if kind == pa.string()
    }
    rows = [
        empty
        | {"source": "made-up", "doc_id": f"doc-{text_digest(path)}", "path": path, "content": text}
        | {"content_hash": text_digest(text), "content_length": len(text), "media_type": "text/markdown"}
        | {"status": "processed", "modified_at": datetime(2026, 1, 1, tzinfo=UTC)}
        for path, text in texts.items()
    ]
    return pa.Table.from_pylist(rows, schema=RAW_DOCUMENTS)


if __name__ == "__main__":
    main()
