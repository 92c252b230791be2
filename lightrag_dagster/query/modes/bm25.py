"""Chunks ranked by the words that they share with a question (BM25)."""

import numpy as np

from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.text_index import TextIndex
from lightrag_dagster.query.hits import Found
from lightrag_dagster.query.modes.seeds import Mass, largest
from lightrag_dagster.query.search import Search


def find_by_words(search: Search) -> Found:
    """Find the chunks with the highest BM25 scores."""
    return Found(chunks=largest(lexical_scores(search.snapshot.graph, search.query), search.settings.chunk_top_k))


def lexical_scores(graph: Adjacency, query: str) -> Mass:
    """Return the BM25 score of every chunk; 0 for those that may not be found."""
    return np.where(graph.visible, graph.texts.scores(text_terms(query)), np.float32(0))


def best_chunk_coverage(query: str, scores: Mass, texts: TextIndex) -> float:
    """Return the share of a question's terms that the chunk with the highest BM25 score has, 0 to 1.

    Each term counts as one: common words, such as *mother* or *country*, often ask for a second passage.
    """
    wanted = set(text_terms(query))
    if not scores.any():
        return 0.0
    best = scores.argmax()
    return sum(best in texts.chunks_of(term) for term in wanted) / len(wanted)
