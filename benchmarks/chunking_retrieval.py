"""How well questions find their passages in documents cut by each method.

    python -m benchmarks.chunking_retrieval MUSIQUE 2WIKI

A folder has `documents.jsonl` (id, title, text) and `questions.jsonl` (question, supporting ids). Twenty-five
passages, in an order by chance since those of one question stand together, are joined into one Markdown document, each
under its title as a heading. The documents are cut, the chunks embedded by the offline embedder, with the context
where a method gives one, and ranked for each question. A passage counts as found when more than half of it lies in the
first chunks that fit 3,000 tokens, so that methods with large and with small chunks are given the same room. Prints
the share of the supporting passages that are found, with a 95% bootstrap interval, and the difference to `token` of
the same size with its paired interval.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.chunking import document_rows
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.evaluation.bootstrap import Values, estimates
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.models.offline import LexicalEmbedder
from lightrag_dagster.settings import ChunkingSettings
from lightrag_dagster.stages.chunking.chunks import chunk_documents

PASSAGES_A_DOCUMENT = 25
ROOM = 3_000
VARIANTS: dict[str, dict[str, Any]] = {
    "token": {},
    "token, tolerance": {"tolerance": 0.3},
    "recursive": {"method": "recursive"},
    "sentence": {"method": "sentence"},
    "semantic": {"method": "semantic"},
    "structure": {"method": "structure"},
}
SIZES = (1200, 600, 300)


class Corpus(NamedTuple):
    """Joined documents, the document and span of each passage, and the questions with the passages they need."""

    documents: pa.Table
    places: Mapping[str, tuple[str, int, int]]
    questions: Sequence[Mapping[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    for folder in parser.parse_args().data:
        corpus, embedder = read(folder), LexicalEmbedder()
        print(f"{folder.name}: {corpus.documents.num_rows} documents, {len(corpus.questions)} questions")
        asked = [question["question"] for question in corpus.questions]
        for size in SIZES:
            plain: Values | None = None
            for name, settings in VARIANTS.items():
                chunks = _cut(corpus, embedder, size, settings)
                texts = [passage(row["content"], row["context"]) for row in chunks]
                vectors = run_sync(embedder.embed_documents(texts))
                ranked = run_sync(embedder.embed_queries(asked, embedder.corpus_state(texts))) @ vectors.T
                found = np.array([_found(corpus, chunks, *one) for one in zip(ranked, corpus.questions, strict=True)])
                plain = found if plain is None else plain
                print(f"{size:5} {name:18}{len(chunks):6} chunks  {_shown(found)}   over token {_shown(found - plain)}")


def read(folder: Path) -> Corpus:
    """Join the passages of a folder into documents."""
    passages, questions = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("documents", "questions")
    )
    passages.sort(key=lambda one: text_digest(one["id"]))
    places: dict[str, tuple[str, int, int]] = {}
    texts: dict[str, str] = {}
    for start in range(0, len(passages), PASSAGES_A_DOCUMENT):
        path, text = f"{start:06}.md", f"# Collection {start // PASSAGES_A_DOCUMENT}"
        for one in passages[start : start + PASSAGES_A_DOCUMENT]:
            text += f"\n\n## {one['title']}\n\n"
            places[one["id"]] = (path, len(text), len(text) + len(one["text"]))
            text += one["text"]
        texts[path] = text
    return Corpus(document_rows(texts), places, questions)


def _cut(corpus: Corpus, embedder: LexicalEmbedder, size: int, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    chosen = {"size": size, "overlap": size // 12, **settings}
    if "tolerance" in settings:
        chosen["tolerance"] = int(settings["tolerance"] * size)
    chunking = ChunkingSettings.model_validate(chosen)
    cut = chunk_documents(corpus.documents, chunking, embed=lambda texts: run_sync(embedder.embed_documents(texts)))
    rows: list[dict[str, Any]] = cut.to_pylist()
    return rows


def _found(corpus: Corpus, chunks: Sequence[Mapping[str, Any]], ranked: Values, question: Mapping[str, Any]) -> float:
    """Return the share of a question's passages of which more than half lies in the first chunks."""
    left, shown = ROOM, list[Mapping[str, Any]]()
    for number in np.argsort(-ranked, kind="stable").tolist():
        left -= chunks[number]["tokens"]
        if left < 0:
            break
        shown.append(chunks[number])

    def seen(name: str) -> bool:
        path, start, end = corpus.places[name]
        covered = np.zeros(end - start, np.bool_)
        for chunk in shown:
            if chunk["path"] == path:
                covered[max(0, chunk["char_start"] - start) : max(0, chunk["char_end"] - start)] = True
        return bool(covered.mean() > 0.5)

    return float(np.mean([seen(name) for name in question["supporting"]]))


def _shown(values: Values) -> str:
    (one,) = estimates(100 * values[:, None])
    return f"{one.mean:5.1f} [{one.low:.1f}, {one.high:.1f}]"


if __name__ == "__main__":
    main()
