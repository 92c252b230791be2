"""The retrieval modes, in one table.

A mode finds rows of the graph arrays for a `Search`, best first. Everything after it (budgets, chunks behind entities
and relations, reranking, references) is the same for all modes. To add one, write its function and enter it in
`MODES`. Imports of numpy and the stores stay inside functions: the command line reads the names for its help.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from lightrag_dagster.query.search import Search

Item = TypeVar("Item", bound=Hashable)

Hits = dict[int, float | None]
"""row → score, best first; None where nothing was compared."""

Path = list[str]
"""How a chunk was reached: names of entities, relations (`A — B`) and passages (source/path), the chunk's own last."""

_NOTHING = object()


@dataclass(frozen=True)
class Found:
    """The rows that a mode found, each best first."""

    entities: Hits = field(default_factory=dict)
    relations: Hits = field(default_factory=dict)
    chunks: Hits = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    """What else `--explain` tells of the step; ready for JSON."""
    paths_to: Callable[[int], list[Path]] | None = None
    """Tells the ways by which one of the chunks was reached; without it, each resembles the question itself."""


class Mode(NamedTuple):
    """How a mode finds, and which of the steps around it it needs."""

    find: Callable[["Search"], Found]
    keywords: bool = False
    """Find keywords first; without any, the mode finds nothing."""
    related_chunks: bool = False
    """Add the chunks behind the entities and relations to the chunks found."""
    retrieves: bool = True
    """False: the bare question is put to the model, without a context."""
    ignores: frozenset[str] = frozenset()
    """Options of a question that change nothing."""


def round_robin(*ranked: Sequence[Item]) -> list[Item]:
    """Return the first of each list, then the second of each, and so on, every item once at its first place."""
    turns = chain.from_iterable(zip_longest(*ranked, fillvalue=_NOTHING))
    return list(dict.fromkeys(cast("Item", item) for item in turns if item is not _NOTHING))


def _naive(search: "Search") -> Found:
    """Find chunks near the question."""
    return search.nearest(chunks=search.query)


def _local(search: "Search") -> Found:
    """Find entities near the specifics, and the relations around them; without specifics, as global."""
    return _graph(search, search.specifics, "" if search.specifics else search.themes)


def _global(search: "Search") -> Found:
    """Find relations near the themes, and the entities they join; without themes, as local."""
    return _graph(search, "" if search.themes else search.specifics, search.themes)


def _hybrid(search: "Search") -> Found:
    """Find as local and as global at once, merged by turns."""
    return _graph(search, search.specifics, search.themes)


def _mix(search: "Search") -> Found:
    """Find as hybrid, and chunks near the question."""
    return _graph(search, search.specifics, search.themes, search.query)


def _ppr(search: "Search") -> Found:
    """Find the chunks that a random walk from similar relations and chunks visits most."""
    from lightrag_dagster.query.ppr import find_by_pagerank

    return find_by_pagerank(search)


def _bm25(search: "Search") -> Found:
    """Find the chunks that share most rare words with the question."""
    from lightrag_dagster.query.ranking.lexical import find_by_words

    return find_by_words(search)


def _fusion(search: "Search") -> Found:
    """Find the chunks that a random walk from names, facts and similar chunks visits most."""
    from lightrag_dagster.query.ranking.fusion import find_by_fusion

    return find_by_fusion(search)


def _bypass(search: "Search") -> Found:
    return Found()


def _graph(search: "Search", specifics: str, themes: str, question: str = "") -> Found:
    from lightrag_dagster.query.search import endpoints_of, relations_around

    graph, near = search.snapshot.graph, search.nearest(entities=specifics, relations=themes, chunks=question)
    entities, relations = list(near.entities), list(near.relations)
    return Found(
        {row: near.entities.get(row) for row in round_robin(entities, endpoints_of(graph, relations))},
        {row: near.relations.get(row) for row in round_robin(relations_around(graph, entities), relations)},
        near.chunks,
    )


_KEYWORDS = frozenset({"keywords"})
_RELATED = frozenset({"related_chunk_number", "related_chunk_method"})
_GRAPH = frozenset({"top_k", "max_entity_tokens", "max_relation_tokens"})
_NEAR = frozenset({"cosine_threshold"})
_WALK = frozenset({"filter_facts"})
_CONTEXT = frozenset({"response_type", "user_prompt", "system_prompt"})
_ALL = frozenset({"filters", "chunk_top_k", "max_total_tokens", "rerank", "min_rerank_score", "decompose", "max_hops"})

MODES: dict[str, Mode] = {
    "fusion": Mode(_fusion, ignores=_KEYWORDS | _RELATED | _NEAR),
    "naive": Mode(_naive, ignores=_KEYWORDS | _RELATED | _GRAPH | _WALK),
    "bm25": Mode(_bm25, ignores=_KEYWORDS | _RELATED | _GRAPH | _WALK | _NEAR),
    "local": Mode(_local, keywords=True, related_chunks=True, ignores=_WALK),
    "global": Mode(_global, keywords=True, related_chunks=True, ignores=_WALK),
    "hybrid": Mode(_hybrid, keywords=True, related_chunks=True, ignores=_WALK),
    "mix": Mode(_mix, keywords=True, related_chunks=True, ignores=_WALK),
    "ppr": Mode(_ppr, ignores=_KEYWORDS | _RELATED),
    "bypass": Mode(_bypass, retrieves=False, ignores=_KEYWORDS | _RELATED | _GRAPH | _NEAR | _WALK | _CONTEXT | _ALL),
}
"""Every mode by name."""
