"""Step 2: vector search. Specifics find entities, themes find relations, the question finds chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lightrag_dagster.llm.protocol import Vectors
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.settings import QuerySettings

Hits = dict[str, float]
"""id → cosine similarity, best first."""


@dataclass(frozen=True)
class Plan:
    """What is searched for entities and for relations (nothing when empty), and whether chunks are searched."""

    entities: str
    relations: str
    chunks: bool


@dataclass(frozen=True)
class Found:
    """What the searches found, and the vector of the question."""

    question: Vectors
    entities: Hits
    relations: Hits
    chunks: Hits


def plan(mode: str, keywords: Keywords) -> Plan:
    """Say what a mode searches for; local and global, lacking their own keywords, make do with the others."""
    low, high = ", ".join(keywords.low_level), ", ".join(keywords.high_level)
    if mode == "naive" or (mode == "global" and high):
        low = ""
    if mode == "naive" or (mode == "local" and low):
        high = ""
    return Plan(low, high, chunks=mode in ("naive", "mix"))


def search(
    snapshot: Snapshot,
    query: str,
    wanted: Plan,
    settings: QuerySettings,
    embed: Callable[[Sequence[str]], Vectors],
) -> Found:
    """Embed question and keywords in one call, then search; raises what `embed` and the vector tables raise."""
    texts = [query, wanted.entities, wanted.relations]
    used = [text for text in texts if text]
    vector_of = dict(zip(used, embed(used), strict=True))

    def hits(table: str, text: str, limit: int) -> Hits:
        if not text:
            return {}
        return dict(snapshot.vectors[table].search(vector_of[text], limit, settings.cosine_threshold))

    return Found(
        question=vector_of[query],
        entities=hits("entity_vectors", wanted.entities, settings.top_k),
        relations=hits("relation_vectors", wanted.relations, settings.top_k),
        chunks=hits("chunk_vectors", query if wanted.chunks else "", settings.chunk_top_k),
    )
