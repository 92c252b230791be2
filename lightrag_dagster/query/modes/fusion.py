"""Mode `fusion`: names, relations, words and meaning together decide the start of a walk over the graph.

The walk is that of `ppr`. It starts at entities that the question names, at the ends of the relations that resemble it,
and at the chunks that resemble it by words (BM25) and by vectors. Two numbers calibrate it: the part of the question
that is names, and the part of its words that one chunk has. A question without names, or one that a single chunk
answers, needs no walk: then chunks are ranked by their similarity to the question. The embedder is the only model that
is called, unless `query.filter_relations` has a language model choose the relations. docs/measurements/retrieval.md has
the gains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.hits import Found, Hits
from lightrag_dagster.query.linking import Link, Names, coverage, link_names
from lightrag_dagster.query.modes.bm25 import best_chunk_coverage, lexical_scores
from lightrag_dagster.query.modes.ppr import Walked, pagerank, paths_by
from lightrag_dagster.query.modes.seeds import (
    Mass,
    agreement,
    direct_scores,
    largest,
    order_named,
    seeds_of_names,
    seeds_of_relations,
    share,
)
from lightrag_dagster.query.search import Search, relations_around
from lightrag_dagster.query.steps.relation_filter import filter_relations


@dataclass(frozen=True)
class Fusion:
    """The weights of the parts; the values are measured in docs/measurements/retrieval.md.

    With c the part of the question that is names, and h the part of its words that the chunk with the highest BM25
    score has, the walk starts at names, relations and chunks in the ratio of `names` times c, `relations` times 1 − c
    times 1 − h, and `chunks` times 1 − c: if a chunk has the words, relations only repeat it. `damping` is the
    probability of a further step; no walk is longer than `steps`. A chunk gets `direct` times (1 + h³) / 2 times (1 −
    c)⁴ of its mass by its similarity to the question, of the rest another `whole` times h¹⁶, so that a chunk with all
    words leads, and what is left by the walk, which always keeps a part so that chunks linked to the best one are found
    as well. The similarity is that of the dense ranking, with weight `dense`, and of the lexical one, with weight
    `lexical` times h²; times `beside_words` where the embedder compares words as well, and so says little that they do
    not. A model's vectors count less where they agree with words in less than a part 1 / `agreeing` of the nearest
    chunks. The most that this takes is a part h of their weight, since a question in another language than the
    documents shares a few words with them by chance. The chunks of named entities keep their places as a group; which
    of them has which goes by `among_named` times h² of similarity, and by the walk. At most `beside_relations`
    relations are compared with the question, those of the `beside_chunks` nearest chunks first, and the nearest
    `compared_relations` count.
    """

    names: float = 1.0
    relations: float = 0.1
    chunks: float = 0.1
    direct: float = 0.9
    whole: float = 0.9
    dense: float = 1.0
    lexical: float = 4.0
    beside_words: float = 3.0
    agreeing: float = 2.0
    among_named: float = 1.0
    damping: float = 0.8
    steps: int = 6
    beside_chunks: int = 10
    beside_relations: int = 500
    compared_relations: int = 50
    compared_chunks: int = 200


FUSION = Fusion()


def find_by_fusion(search: Search) -> Found:
    """Find entities, relations and chunks for a question, best first, by the mass of the walk.

    Relations are those that resemble the question, with their similarity.
    """
    snapshot, settings, how = search.snapshot, search.settings, FUSION
    graph = snapshot.graph
    nearest = search.begin_nearest(
        chunks=search.query if how.dense else "", most_chunks=how.compared_chunks, threshold=-1.0
    )
    links = link_names(search.query, names_of(graph)) if how.names else []
    covered = coverage(search.query, links, graph.texts)
    lexical = lexical_scores(graph, search.query)
    held = best_chunk_coverage(search.query, lexical, graph.texts) if how.lexical else 0.0
    near = nearest()
    relations = relations_near(search, near.chunks, lexical, links) if how.relations else {}
    agreed, by_words = 1 - held * (1 - min(1.0, how.agreeing * agreement(near.chunks, lexical))), how.lexical
    if snapshot.manifest.vectors.provider == "offline":
        agreed, by_words = 1.0, how.lexical * how.beside_words
    direct = direct_scores(near.chunks, lexical, (how.dense * agreed, by_words * held**2), how.compared_chunks)
    spread = graph.entity_chunks.lengths
    filtered = filter_relations(search, relations)
    related = seeds_of_relations(graph, filtered.relations, spread)
    seeds = Seeds(seeds_of_names(links, spread), related, share(direct**3))
    found = dict(list(relations.items())[: settings.top_k])
    calibration = {"covered by names": round(covered, 2), "words in the best chunk": round(held, 2)}
    calibration["weight of vectors"] = round(how.dense * agreed, 2)
    notes: dict[str, object] = calibration | {"names": tuple(f"{one.name} ({one.probability:.2f})" for one in links)}
    notes |= filtered.notes
    start = start_mass(seeds, covered, held, how)
    walk = pagerank(snapshot.transitions_by_names, start, how.damping, how.steps)
    split, alone = len(graph.entities.ids), without_walk(covered, held, how)
    # Most of the walk's mass is at entities; that at chunks counts by its share.
    at_chunks = float(walk[split:].sum())
    scale = (1 - alone) / at_chunks if at_chunks else 0.0
    resembling = alone * seeds.chunks
    begun = scale * (1 - how.damping) * start
    begun[split:] += resembling
    walked = Walked(begun, scale * walk, how.damping)
    mass = order_named(walked.mass[split:] + resembling, direct, chunks_of(links, graph), how.among_named * held**2)
    chunks = largest(mass, settings.chunk_top_k)
    paths_to = paths_by(graph, snapshot.transitions_by_names, walked)
    return Found(largest(walk[:split], settings.top_k), found, chunks, notes, paths_to)


class Seeds(NamedTuple):
    """Shares of entities that are named, of entities in relations, and of chunks; each sums to 1, or to 0."""

    names: Mass
    relations: Mass
    chunks: Mass


def relations_near(search: Search, dense: Hits, lexical: Mass, links: Sequence[Link]) -> Hits:
    """Return the relations that resemble the question, of those beside what it found, best first.

    Compared are those that the nearest chunks support, by vectors and by words, then those of the entities that the
    question names, by rank: hundreds, where all would take longer than the rest of the question.
    """
    graph, how = search.snapshot.graph, FUSION
    chunks = [*list(dense)[: how.beside_chunks], *largest(lexical, how.beside_chunks)]
    supported = graph.chunk_relations.of_each(np.array(chunks, dtype=np.int32))[1].tolist()
    named = relations_around(graph, [entity for link in links for entity in link.entities.tolist()])
    beside = list(dict.fromkeys([*supported, *named]))[: how.beside_relations]
    compared = search.similarity("relation", np.array(sorted(beside), dtype=np.int32))
    best = sorted(compared, key=lambda row: -compared[row])[: max(how.compared_relations, search.settings.top_k)]
    return {row: compared[row] for row in best}


def names_of(graph: Adjacency) -> Names:
    """Return the entities that a question may name."""
    named = graph.entities.rows.column("name")
    return Names(graph.texts, graph.entity_chunks.lengths, graph.visible, lambda entity: named[entity].as_py())


def chunks_of(links: Sequence[Link], graph: Adjacency) -> Rows:
    """Return the chunks of the entities that a question names, each once, ascending."""
    entities = np.concatenate([graph.entity_chunks.values[:0], *(link.entities for link in links)])
    return np.unique(graph.entity_chunks.of_each(entities)[1])


def without_walk(covered: float, held: float, how: Fusion) -> float:
    """Return the share of a chunk's mass that its similarity to the question decides, 0 to 1.

    Args:
        covered: the part of the question that is names, 0 to 1.
        held: the part of its words that one chunk has, 0 to 1.
        how: the weights.
    """
    return 1 - (1 - how.direct * (1 + held**3) / 2 * (1 - covered) ** 4) * (1 - how.whole * held**16)


def start_mass(seeds: Seeds, covered: float, held: float, how: Fusion) -> Mass:
    """Return the start of the walk: one number per node, entities first, then chunks; they sum to 1, or to 0.

    Args:
        seeds: the shares of names, relations and chunks.
        covered: the part of the question that is names, 0 to 1.
        held: the part of its words that one chunk has, 0 to 1.
        how: the weights.
    """
    entities = how.names * covered * seeds.names + how.relations * (1 - covered) * (1 - held) * seeds.relations
    return share(np.concatenate([entities, how.chunks * (1 - covered) * seeds.chunks]).astype(np.float32))
