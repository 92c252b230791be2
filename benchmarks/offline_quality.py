"""How good the offline rules are, against extractions and questions that come with supporting passages.

    python -m benchmarks.offline_quality DATA

DATA is a folder with `documents.jsonl` (id, title, text) and `questions.jsonl` (question, supporting ids). `extractor`
and `embedder` are adapters for scripts that want plain functions.
"""

import asyncio
from collections.abc import Sequence

from lightrag_dagster.llm.offline import LexicalEmbedder
from lightrag_dagster.llm.offline.extractor import extract
from lightrag_dagster.llm.protocol import Vectors


def extractor(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the names of a passage's entities, and the pairs that are related."""
    found = extract(text)
    return [entity.name for entity in found.entities], [(one.source, one.target) for one in found.relations]


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
