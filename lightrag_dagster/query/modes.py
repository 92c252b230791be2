"""The ways to find: one function a mode, in one table.

A mode is a function from a `Search` to what it `Found`, as rows of the adjacency arrays, best first. Everything after
it (budgets, chunks behind entities and relations, rerank, references) is the same for all modes. To add one, write its
function and enter it in `MODES`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lightrag_dagster.indexes.adjacency import Rows
from lightrag_dagster.query.expansion import endpoints_of, relations_around
from lightrag_dagster.query.round_robin import round_robin
from lightrag_dagster.query.search import Hits, Search
from lightrag_dagster.query.types import Keywords


@dataclass(frozen=True)
class Found:
    """What a mode found, each best first."""

    entities: Hits = field(default_factory=dict)
    relations: Hits = field(default_factory=dict)
    chunks: Hits = field(default_factory=dict)


class Mode(NamedTuple):
    """How a mode works: what it finds, and which of the steps around it it needs."""

    find: Callable[[Search], Found]
    keywords: bool
    """Whether keywords are found first; without any the mode finds nothing."""
    related_chunks: bool
    """Whether chunks behind the entities and relations are added to the chunks found."""


def _naive(search: Search) -> Found:
    """Chunks near the question."""
    _, _, chunks = search.nearest(chunks=search.query)
    return Found(chunks=chunks)


def _local(search: Search) -> Found:
    """Entities near the specifics, and the relations around them; without specifics, as global."""
    low, high = levels(search.keywords)
    return _graph(search, low, "" if low else high)


def _global(search: Search) -> Found:
    """Relations near the themes, and the entities they join; without themes, as local."""
    low, high = levels(search.keywords)
    return _graph(search, "" if high else low, high)


def _hybrid(search: Search) -> Found:
    """Both ways at once, merged by turns."""
    return _graph(search, *levels(search.keywords))


def _mix(search: Search) -> Found:
    """Both ways, and chunks near the question."""
    return _graph(search, *levels(search.keywords), search.query)


def _associative(search: Search) -> Found:
    """Chunks that a random walk from what resembles the question comes by most often."""
    from lightrag_dagster.query.associative import associated

    return Found(*associated(search))


def _nothing(search: Search) -> Found:
    """No retrieval: the model alone is asked."""
    return Found()


def levels(keywords: Keywords) -> tuple[str, str]:
    """Return the specifics, and the themes, as one text each."""
    return ", ".join(keywords.low_level), ", ".join(keywords.high_level)


def _graph(search: Search, specifics: str, themes: str, question: str = "") -> Found:
    graph = search.snapshot.graph
    entities, relations, chunks = search.nearest(entities=specifics, relations=themes, chunks=question)
    near, linked = _rows(entities), _rows(relations)
    return Found(
        {row: entities.get(row) for row in round_robin(near.tolist(), endpoints_of(graph, linked))},
        {row: relations.get(row) for row in round_robin(relations_around(graph, near), linked.tolist())},
        chunks,
    )


def _rows(hits: Hits) -> Rows:
    return np.array(list(hits), dtype=np.int32)


MODES: dict[str, Mode] = {
    "naive": Mode(_naive, keywords=False, related_chunks=False),
    "local": Mode(_local, keywords=True, related_chunks=True),
    "global": Mode(_global, keywords=True, related_chunks=True),
    "hybrid": Mode(_hybrid, keywords=True, related_chunks=True),
    "mix": Mode(_mix, keywords=True, related_chunks=True),
    "ppr": Mode(_associative, keywords=False, related_chunks=False),
    "bypass": Mode(_nothing, keywords=False, related_chunks=False),
}
"""Every mode by name."""
