"""How well questions find their passages in documents cut by each method.

    python -m benchmarks.chunking_retrieval MUSIQUE 2WIKI
    python -m benchmarks.chunking_retrieval MUSIQUE --modes fusion naive --sizes 600

A folder has `documents.jsonl` (id, title, text) and `questions.jsonl` (question, supporting ids). Twenty-five
passages, in an order by chance since those of one question stand together, are joined into one Markdown document, each
under its title as a heading. For each method and size the documents go through the real pipeline, offline, and the
questions are asked. A passage counts as found when more than half of it lies in the first chunks that fit 3,000 tokens,
so that methods with large and with small chunks are given the same room. Prints the share of the supporting passages
that are found, with a 95% bootstrap interval, and the difference to the first method at the same size with its paired
interval.
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.pipeline import Meter
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.evaluation.bootstrap import Values, estimates
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.query.types import Chunk
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

PASSAGES_A_DOCUMENT = 25
ROOM = 3_000
CHUNKS = 60
"""Chunks that an answer may have: more than fit the room."""

VARIANTS: dict[str, dict[str, Any]] = {
    "token": {},
    "recursive": {"method": "recursive"},
    "sentence": {"method": "sentence"},
    "semantic": {"method": "semantic"},
    "structure": {"method": "structure"},
}


class Corpus(NamedTuple):
    """Joined documents, the document and span of each passage, and the questions with the passages they need."""

    texts: Mapping[str, str]
    places: Mapping[str, tuple[str, int, int]]
    questions: Sequence[Mapping[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--modes", nargs="+", default=["fusion"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1200, 600, 300])
    parser.add_argument("--methods", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    given = parser.parse_args()
    for folder in given.data:
        corpus = read(folder)
        print(f"{folder.name}: {len(corpus.texts)} documents, {len(corpus.questions)} questions")
        for size in given.sizes:
            plain: dict[str, Values] = {}
            for name in given.methods:
                started = time.perf_counter()
                with tempfile.TemporaryDirectory() as scratch:
                    chunks, found = _asked(corpus, Path(scratch), _chunking(size, VARIANTS[name]), given.modes)
                took = time.perf_counter() - started
                for mode, values in found.items():
                    over = _shown(values - plain.setdefault(mode, values))
                    print(f"{size:5} {name:18}{chunks:6} chunks {took:5.0f} s  {mode:8}{_shown(values)}   over {over}")


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
    return Corpus(texts, places, questions)


def _chunking(size: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"size": size, "overlap": size // 12, **settings}


def _asked(
    corpus: Corpus, folder: Path, chunking: Mapping[str, Any], modes: Sequence[ModeName]
) -> tuple[int, dict[ModeName, Values]]:
    """Build a knowledge base, and return its chunks and what each question finds in each mode."""
    source = folder / "sources" / "joined"
    source.mkdir(parents=True)
    for path, text in corpus.texts.items():
        (source / path).write_text(text)
    settings = load_settings(
        home=folder / "home", sources=folder / "sources", chunking=chunking, query={"chunk_top_k": CHUNKS}
    )
    bring_up_to_date(settings, [], Meter())
    chunks = SourceTables(Home.of(settings)).require("chunks", "joined").rows
    with KnowledgeBase.open(settings=settings) as knowledge:
        found = {
            mode: np.array(
                [
                    _found(corpus, knowledge.retrieve(question["question"], mode=mode).chunks, question)
                    for question in corpus.questions
                ]
            )
            for mode in modes
        }
    return chunks, found


def _found(corpus: Corpus, chunks: Sequence[Chunk], question: Mapping[str, Any]) -> float:
    """Return the share of a question's passages of which more than half lies in the first chunks."""
    room = itertools.accumulate((chunk.tokens for chunk in chunks), initial=0)
    shown = [chunk for chunk, used in zip(chunks, itertools.islice(room, 1, None), strict=True) if used <= ROOM]

    def seen(name: str) -> bool:
        path, start, end = corpus.places[name]
        covered = np.zeros(end - start, np.bool_)
        for place in (place for chunk in shown for place in chunk.citations if place.path == path):
            covered[max(0, place.char_start - start) : max(0, place.char_end - start)] = True
        return bool(covered.mean() > 0.5)

    return float(np.mean([seen(name) for name in question["supporting"]]))


def _shown(values: Values) -> str:
    (one,) = estimates(100 * values[:, None])
    return f"{one.mean:5.1f} [{one.low:.1f}, {one.high:.1f}]"


if __name__ == "__main__":
    main()
