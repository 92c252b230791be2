"""How good the offline rules are, against extractions and questions that come with supporting passages.

    python -m benchmarks.offline_quality DATA

DATA is a folder with `documents.jsonl` (id, title, text), `extractions.jsonl` (id, entities: names that a model
found) and `questions.jsonl` (question, supporting ids). Every figure is given for all passages and questions, and for
the even and the odd half, since a rule that helps only the half it was made on is no rule. `extractor` and `embedder`
are adapters for scripts that want plain functions.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.offline.embedder import LexicalEmbedder
from lightrag_dagster.offline.extractor import extract


def extractor(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the names of a passage's entities, dates among them as in the data, and the pairs that are related."""
    found = extract(text, dates=True)
    return [entity.name for entity in found.entities], [(one.src, one.tgt) for one in found.relations]


class embedder:  # noqa: N801  # scripts call it as a factory
    """Embeds without asyncio, and keeps the corpus state of the documents for the questions."""

    def __init__(self) -> None:
        self._embedder = LexicalEmbedder(1024)
        self._state: Vectors | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._state = self._embedder.corpus_state(texts)
        return asyncio.run(self._embedder.embed_documents(texts))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return asyncio.run(self._embedder.embed_queries(texts, self._state))


def main(folder: Path) -> None:
    """Print what the rules reach on the data in a folder, and how fast."""
    documents, extractions, questions = (
        _load(folder / f"{name}.jsonl") for name in ("documents", "extractions", "questions")
    )
    texts = [f"{document['title']}\n{document['text']}" for document in documents]

    start = time.process_time()
    found = [{name_key(name) for name in extractor(text)[0]} for text in texts]
    extracting = time.process_time() - start
    wanted = [{name_key(name) for name in extraction["entities"]} for extraction in extractions]

    vectors = embedder()
    vectors.embed_documents(texts)  # fills the cache of word features
    start = time.process_time()
    similarities = vectors.embed_queries([one["question"] for one in questions]) @ vectors.embed_documents(texts).T
    embedding = time.process_time() - start
    position = {document["id"]: index for index, document in enumerate(documents)}
    supporting = [{position[one] for one in question["supporting"]} for question in questions]
    nearest = np.argsort(-similarities, axis=1, kind="stable")

    print(f"{'':14}{'precision':>10}{'recall':>10}{'F1':>10}{'recall@2':>10}{'recall@5':>10}{'recall@10':>10}")
    for name, half in (("all", slice(None)), ("even half", slice(0, None, 2)), ("odd half", slice(1, None, 2))):
        row = [
            *_agreement(found[half], wanted[half]),
            *(_recall(nearest[half], supporting[half], k) for k in (2, 5, 10)),
        ]
        print(f"{name:14}" + "".join(f"{value:10.1f}" for value in row))
    print(f"{len(texts) / extracting:.0f} passages extracted and {len(texts) / embedding:.0f} embedded a CPU-second")


def _load(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _agreement(found: Sequence[set[str]], wanted: Sequence[set[str]]) -> tuple[float, float, float]:
    hits = sum(len(ours & theirs) for ours, theirs in zip(found, wanted, strict=True))
    precision, recall = hits / sum(map(len, found)), hits / sum(map(len, wanted))
    return 100 * precision, 100 * recall, 200 * precision * recall / (precision + recall)


def _recall(nearest: npt.NDArray[np.int64], supporting: Sequence[set[int]], k: int) -> float:
    shares = (
        len(wanted.intersection(row[:k].tolist())) / len(wanted)
        for row, wanted in zip(nearest, supporting, strict=True)
    )
    return 100 * sum(shares) / len(supporting)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
