"""Vector search and graph neighbourhood for one question; hits are rows of the graph arrays."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.indexes.adjacency import Adjacency, MappedTable
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.ask import Asking
from lightrag_dagster.query.hits import Found, Hits
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Keywords


class Search:
    """One question in one snapshot: everything that a mode needs to search."""

    def __init__(
        self,
        snapshot: Snapshot,
        question: Question,
        embed: Callable[[Sequence[str]], Vectors],
        threads: Executor | None = None,
        asking: Asking | None = None,
    ) -> None:
        """Take the question, whose keywords are found already, and the snapshot, filtered already.

        `embed` returns unit vectors for texts, `threads` search several tables at once, and `asking` asks the language
        model in the steps that need it; without it, they are left out.
        """
        self.snapshot = snapshot
        self.query = question.text
        self.keywords = question.keywords or Keywords()
        self.settings = question.settings
        self.as_of = question.as_of
        self._question = question
        self._embed = embed
        self._threads = threads
        self.asking = asking
        self._vectors: dict[str, Vectors] = {}

    @property
    def specifics(self) -> str:
        """The low-level keywords as one text."""
        return ", ".join(self.keywords.low_level)

    @property
    def themes(self) -> str:
        """The high-level keywords as one text."""
        return ", ".join(self.keywords.high_level)

    def about(self, query: str, keywords: Keywords) -> "Search":
        """Return a search for another question with the same parts."""
        question = replace(self._question, text=query, keywords=keywords)
        return Search(self.snapshot, question, self._embed, self._threads, self.asking)

    def nearest(self, *, entities: str = "", relations: str = "", chunks: str = "") -> Found:
        """Find the `top_k` entities and relations and the `chunk_top_k` chunks nearest to texts, as `begin_nearest`."""
        return self.begin_nearest(entities=entities, relations=relations, chunks=chunks)()

    def begin_nearest(
        self,
        *,
        entities: str = "",
        relations: str = "",
        chunks: str = "",
        most_chunks: int | None = None,
        threshold: float | None = None,
    ) -> Callable[[], Found]:
        """Begin to search the tables for what is nearest to texts, and return a function that waits for the hits.

        `most_chunks` replaces `chunk_top_k`, `threshold` the lowest similarity of a hit. The texts and the question are
        embedded in one call; an empty text is near nothing. Raises as the embedder.
        """
        self._embed_new(entities, relations, chunks)
        settings = self.settings
        limits = (settings.top_k, settings.top_k, most_chunks or settings.chunk_top_k)
        least = settings.cosine_threshold if threshold is None else threshold
        run = self._threads.map if self._threads else map
        kinds, texts = ("entity", "relation", "chunk"), (entities, relations, chunks)
        hits = run(self._nearest, kinds, texts, limits, (least,) * len(kinds))
        return lambda: Found(next(hits), next(hits), next(hits))

    def similarity(self, kind: str, rows: Rows) -> dict[int, float]:
        """Return the cosine similarity to the question of those rows of `chunk` or `relation` that have a vector.

        That of a vector of zeros is 0.
        """
        ids = self._table(kind).ids_at(rows)
        vectors = self.snapshot.vectors[f"{kind}_vectors"].vectors(ids)
        held = [row for row, one in zip(rows.tolist(), ids, strict=True) if one in vectors]
        if not held:
            return {}
        self._embed_new()
        known = np.stack([vectors[one] for one in ids if one in vectors])
        return dict(zip(held, np.nan_to_num(known @ self._vectors[self.query]).tolist(), strict=True))

    def _nearest(self, kind: str, text: str, limit: int, threshold: float) -> Hits:
        if not text:
            return {}
        found = self.snapshot.vectors[f"{kind}_vectors"].search(self._vectors[text], limit, threshold)
        rows = self._table(kind).rows_of([one for one, _ in found])
        return dict(zip(rows.tolist(), (score for _, score in found), strict=True))

    def _table(self, kind: str) -> MappedTable:
        graph = self.snapshot.graph
        return {"entity": graph.entities, "relation": graph.relations, "chunk": graph.chunks}[kind]

    def _embed_new(self, *texts: str) -> None:
        """Embed the question and the texts in one call, except empty and known ones."""
        new = [text for text in dict.fromkeys((self.query, *texts)) if text and text not in self._vectors]
        if new:
            self._vectors |= zip(new, self._embed(new), strict=True)


def relations_around(graph: Adjacency, entities: Sequence[int]) -> list[int]:
    """Return the relations that end at any of the entities, by rank, then weight, descending.

    Among equal ones, those around the first entities come first, and around one entity the smallest ids.
    """
    around = np.concatenate([graph.entity_relations.values[:0], *map(graph.entity_relations.of, entities)])
    _, first = np.unique(around, return_index=True)
    relations = around[np.sort(first)]
    best: list[int] = relations[np.argsort(graph.priority[relations], kind="stable")].tolist()
    return best


def endpoints_of(graph: Adjacency, relations: Sequence[int]) -> list[int]:
    """Return the entities that the relations join, in order of appearance."""
    return list(dict.fromkeys(graph.endpoints[np.array(relations, dtype=np.int32)].ravel().tolist()))
