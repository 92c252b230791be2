"""The retrieval modes, in one table.

A mode finds rows of the graph arrays for a `Search`, best first. Everything after it (budgets, chunks of entities and
relations, reranking, references) is the same for all modes. To add one, write its function in a module of
`query/modes` and enter it in `MODES` and `ModeName`. Modules are imported at the first search: the command line reads
the names for its help, without numpy and the stores.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from lightrag_dagster.query.hits import Found

ModeName = Literal["fusion", "naive", "bm25", "local", "global", "hybrid", "mix", "ppr", "bypass"]


class Mode(NamedTuple):
    """A mode: the function that finds, and the steps around it that it needs."""

    function: str
    """Its function, as `module.name` in `query/modes`: `Search` → `Found`, rows of the graph arrays, best first."""
    keywords: bool = False
    """True: find keywords first; without any, the mode finds nothing."""
    related_chunks: bool = False
    """True: add the chunks of the entities and relations to the chunks found."""
    retrieves: bool = True
    """False: the model gets the bare question, without a context."""
    ignores: frozenset[str] = frozenset()
    """Options of a question without effect in this mode."""

    @property
    def find(self) -> Callable[..., "Found"]:
        """The function of the mode."""
        module, name = self.function.split(".")
        return cast("Callable[..., Found]", getattr(import_module(f"lightrag_dagster.query.modes.{module}"), name))


_KEYWORDS = frozenset({"keywords"})
_RELATED = frozenset({"related_chunk_number", "related_chunk_method"})
_GRAPH = frozenset({"top_k", "max_entity_tokens", "max_relation_tokens"})
_FACTS = frozenset({"as_of"})
_NEAR = frozenset({"cosine_threshold"})
_WALK = frozenset({"filter_relations"})
_CONTEXT = frozenset({"response_type", "user_prompt", "system_prompt"})
_ALL = frozenset({"filters", "chunk_top_k", "max_total_tokens", "rerank", "min_rerank_score", "prefer"})
_HOPS = frozenset({"hops"})

_EVERYTHING = _KEYWORDS | _RELATED | _GRAPH | _NEAR | _WALK | _CONTEXT | _HOPS | _FACTS | _ALL

MODES: dict[str, Mode] = {
    "fusion": Mode("fusion.find_by_fusion", ignores=_KEYWORDS | _RELATED | _NEAR),
    "naive": Mode("lightrag.find_naive", ignores=_KEYWORDS | _RELATED | _GRAPH | _WALK | _FACTS),
    "bm25": Mode("bm25.find_by_words", ignores=_KEYWORDS | _RELATED | _GRAPH | _WALK | _FACTS | _NEAR),
    "local": Mode("lightrag.find_local", keywords=True, related_chunks=True, ignores=_WALK),
    "global": Mode("lightrag.find_global", keywords=True, related_chunks=True, ignores=_WALK),
    "hybrid": Mode("lightrag.find_hybrid", keywords=True, related_chunks=True, ignores=_WALK),
    "mix": Mode("lightrag.find_mix", keywords=True, related_chunks=True, ignores=_WALK),
    "ppr": Mode("ppr.find_by_pagerank", ignores=_KEYWORDS | _RELATED),
    "bypass": Mode("lightrag.find_nothing", retrieves=False, ignores=_EVERYTHING),
}
