"""Mode `fusion`: names, facts, words and meaning together decide where a walk over the graph starts.

The walk is that of `ppr`. It starts at entities that the question names, at the ends of the relations that resemble it,
and at the chunks that resemble it by words (BM25) and by vectors. The better the question is covered by names, the more
of the walk starts there. The embedder is the only model that is called. docs/evaluation.md has what each part adds.
"""

from dataclasses import dataclass

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.modes import Found
from lightrag_dagster.query.ppr import pagerank
from lightrag_dagster.query.ranking.lexical import lexical_scores, visible_chunks
from lightrag_dagster.query.ranking.linking import Link, Mask, Names, coverage, link_names
from lightrag_dagster.query.ranking.seeds import Mass, direct_scores, largest, seeds_of_facts, seeds_of_names, share
from lightrag_dagster.query.search import Search


@dataclass(frozen=True)
class Fusion:
    """How much each part counts; the values are measured in docs/evaluation.md.

    Of the start, names have the share `names` times their coverage of the question, the `compared_facts` nearest
    relations `facts`, and chunks `chunks` times what names leave uncovered. `dense` and `lexical` say which rankings of
    chunks count. `damping` is the probability of a further step; no walk is longer than `steps`.
    """

    names: float = 1.0
    facts: float = 0.3
    chunks: float = 0.1
    dense: bool = True
    lexical: bool = True
    damping: float = 0.75
    steps: int = 8
    compared_facts: int = 50
    compared_chunks: int = 200


FUSION = Fusion()


def find_by_fusion(search: Search) -> Found:
    """Find entities, relations and chunks for a question, best first, by the mass of the walk.

    Relations are the facts that resemble the question, with their similarity.
    """
    snapshot, settings, how = search.snapshot, search.settings, FUSION
    graph = snapshot.graph
    near = search.nearest(
        relations=search.query if how.facts else "",
        chunks=search.query if how.dense else "",
        most_relations=max(how.compared_facts, settings.top_k),
        most_chunks=how.compared_chunks,
        threshold=-1.0,
    )
    visible = visible_chunks(graph)
    links = link_names(search.query, names_of(graph, visible)) if how.names else []
    covered = coverage(search.query, links, graph.texts)
    start = start_mass(graph, near, links, lexical_scores(graph, search.query, visible), covered, how)
    found = dict(list(near.relations.items())[: settings.top_k])
    notes = {"covered by names": round(covered, 2), "names": [f"{one.name} ({one.probability:.2f})" for one in links]}
    if not start.any():
        return Found({}, found, {}, notes)
    mass = pagerank(snapshot.transitions, start, how.damping, how.steps)
    split = len(graph.entities.ids)
    return Found(largest(mass[:split], settings.top_k), found, largest(mass[split:], settings.chunk_top_k), notes)


def names_of(graph: Adjacency, visible: Mask) -> Names:
    """Return the entities that a question may name."""
    named = graph.entities.rows.column("name")
    return Names(graph.texts, np.diff(graph.entity_chunks.offsets), visible, lambda entity: named[entity].as_py())


def start_mass(graph: Adjacency, near: Found, links: list[Link], lexical: Mass, covered: float, how: Fusion) -> Mass:
    """Return where the walk starts: one number a node, entities first, then chunks; they sum to 1, or to 0."""
    spread = np.diff(graph.entity_chunks.offsets)
    entities = how.names * covered * seeds_of_names(links, spread)
    if how.facts:
        entities = entities + how.facts * seeds_of_facts(graph, near.relations, spread)
    direct = direct_scores(
        len(graph.chunks.ids), near.chunks, lexical if how.lexical else lexical[:0], how.compared_chunks
    )
    chunks = how.chunks * (1 - covered) * share(direct**2)
    return share(np.concatenate([entities, chunks]).astype(np.float32))
