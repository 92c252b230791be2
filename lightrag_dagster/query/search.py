"""Vector search for one question: its texts are embedded in one call, its hits are rows of the adjacency arrays."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.adjacency import Rows
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

Hits = dict[int, float | None]
"""row → score, best first; None where nothing was compared."""


class Search:
    """One question in one snapshot: what a mode needs to find by."""

    def __init__(
        self,
        snapshot: Snapshot,
        query: str,
        keywords: Keywords,
        settings: QuerySettings,
        embed: Callable[[Sequence[str]], Vectors],
    ) -> None:
        """Remember the question; `embed` gives unit vectors for questions."""
        self.snapshot = snapshot
        self.query = query
        self.keywords = keywords
        self.settings = settings
        self._embed = embed
        self._vectors: dict[str, Vectors] = {}

    def embed(self, *texts: str) -> None:
        """Embed the question and the texts that are not empty, in one call; raises what the embedder raises."""
        missing = [text for text in dict.fromkeys((self.query, *texts)) if text and text not in self._vectors]
        if missing:
            self._vectors |= zip(missing, self._embed(missing), strict=True)

    def vector(self, text: str) -> Vectors:
        """Return the unit vector of a text; raises what the embedder raises."""
        if text not in self._vectors:
            self.embed(text)
        return self._vectors[text]

    def nearest(
        self, *, entities: str = "", relations: str = "", chunks: str = "", most_chunks: int | None = None
    ) -> tuple[Hits, Hits, Hits]:
        """Return the `top_k` entities and relations and the `chunk_top_k`, or `most_chunks`, chunks nearest to texts.

        The texts are embedded in one call and searched for at once; an empty text is near nothing.
        """
        self.embed(entities, relations, chunks)
        searches = (
            ("entity_vectors", entities, self.settings.top_k),
            ("relation_vectors", relations, self.settings.top_k),
            ("chunk_vectors", chunks, most_chunks or self.settings.chunk_top_k),
        )
        with ThreadPoolExecutor(len(searches)) as threads:
            found = [threads.submit(self._nearest, *each) for each in searches]
        return found[0].result(), found[1].result(), found[2].result()

    def similarity(self, chunks: Rows) -> dict[int, float]:
        """Return the cosine similarity to the question of those of the chunks that have a vector."""
        ids = self.snapshot.graph.chunks.ids_at(chunks)
        vectors = self.snapshot.vectors["chunk_vectors"].vectors(ids)
        rows = [row for row, chunk_id in zip(chunks.tolist(), ids, strict=True) if chunk_id in vectors]
        if not rows:
            return {}
        known = np.stack([vectors[chunk_id] for chunk_id in ids if chunk_id in vectors])
        return dict(zip(rows, (known @ self.vector(self.query)).tolist(), strict=True))

    def _nearest(self, table: str, text: str, limit: int) -> Hits:
        if not text:
            return {}
        graph = self.snapshot.graph
        keyed = {"entity_vectors": graph.entities, "relation_vectors": graph.relations, "chunk_vectors": graph.chunks}
        hits = self.snapshot.vectors[table].search(self.vector(text), limit, self.settings.cosine_threshold)
        rows = keyed[table].rows_of([one for one, _ in hits])
        return dict(zip(rows.tolist(), (score for _, score in hits), strict=True))
