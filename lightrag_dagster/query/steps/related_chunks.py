"""Chunks that support entities and relations, best first and called owners here, and the paths to such chunks."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Lists
from lightrag_dagster.query.hits import Found, Path
from lightrag_dagster.query.search import Search

# LightRAG keeps at most this number of chunks of an entity or relation. The lists here hold all, in turn over sources,
# and a question considers the first.
_CHUNKS_OF_ONE_OWNER = 200


class Related(NamedTuple):
    """Chunks of entities and of relations, best first, each with its owner; and the similarities of all compared."""

    entities: dict[int, int]
    relations: dict[int, int]
    similarity: dict[int, float]


def related_chunks(search: Search, entities: Sequence[int], relations: Sequence[int]) -> Related:
    """Choose chunks of entities, then chunks of relations that the entities have not taken; rows, best first."""
    graph, number = search.snapshot.graph, search.settings.related_chunk_number
    behind_entities = _owned(graph.entity_chunks, entities)
    behind_relations = _owned(graph.relation_chunks, relations)
    similarity: dict[int, float] = {}
    if search.settings.related_chunk_method == "VECTOR":
        candidates = {*chain.from_iterable((*behind_entities.values(), *behind_relations.values()))}
        similarity = search.similarity("chunk", np.array(sorted(candidates), dtype=np.int32))
    of_entities = assign([*behind_entities.values()])
    picked = _with_owners(pick(of_entities, number, similarity), behind_entities, of_entities)
    of_relations = assign([*behind_relations.values()], set(picked))
    further = pick([chunks for chunks in of_relations if chunks], number, similarity)
    return Related(picked, _with_owners(further, behind_relations, of_relations), similarity)


def _owned(lists: Lists, rows: Sequence[int]) -> dict[int, list[int]]:
    """Return the first chunks of each row that has any."""
    return {row: own for row, own in ((row, lists.of(row)[:_CHUNKS_OF_ONE_OWNER].tolist()) for row in rows) if own}


def _with_owners(picked: Iterable[int], owners: Iterable[int], assigned: Sequence[Sequence[int]]) -> dict[int, int]:
    owner_of = {chunk: owner for owner, chunks in zip(owners, assigned, strict=True) for chunk in chunks}
    return {chunk: owner_of[chunk] for chunk in picked}


def assign(owners: Sequence[Sequence[int]], taken: Collection[int] = ()) -> list[list[int]]:
    """Give each chunk that is not taken to the first owner that cites it.

    An owner's chunks are ordered by how many owners cite them, most first, else as the owner has them.
    """
    cited = Counter(chunk for chunks in owners for chunk in chunks if chunk not in taken)
    free = set(cited)
    assigned = []
    for chunks in owners:
        own = [chunk for chunk in dict.fromkeys(chunks) if chunk in free]
        free.difference_update(own)
        assigned.append(sorted(own, key=lambda chunk: -cited[chunk]))
    return assigned


def pick(owned: Sequence[Sequence[int]], number: int, similarity: Mapping[int, float]) -> list[int]:
    """Choose chunks by their similarity to the question; if one has none, by weighted polling of their owners.

    Args:
        owned: chunks of each owner, from `assign`.
        number: chunks that the first owner may expect.
        similarity: chunk → cosine similarity to the question.
    """
    candidates = [chunk for chunks in owned for chunk in chunks]
    limit = number * len(owned) // 2
    if limit and all(chunk in similarity for chunk in candidates):
        return sorted(candidates, key=lambda chunk: (-similarity[chunk], chunk))[:limit]
    return weighted_polling(owned, number)


def weighted_polling(owned: Sequence[Sequence[int]], number: int) -> list[int]:
    """Choose `number` chunks of the first owner, falling linearly to 1 of the last.

    The unused part of an owner's quota passes to the first owners that have chunks left.
    """
    last = max(1, len(owned) - 1)
    quotas = [round(number - (number - 1) * place / last) for place in range(len(owned))]
    chosen = [chunk for chunks, quota in zip(owned, quotas, strict=True) for chunk in chunks[:quota]]
    further = [chunk for chunks, quota in zip(owned, quotas, strict=True) for chunk in chunks[quota:]]
    return chosen + further[: sum(quotas) - len(chosen)]


def paths_behind(graph: Adjacency, found: Found, behind: Related, chunk: int) -> list[Path]:
    """Return the paths to a chunk that was found directly, through an entity or a relation, or both.

    The first is that of the ranking in which the chunk is highest, which gave it its place. An entity or relation that
    was found through the graph comes after the one, near the keywords, that led to it.
    """
    rankings: tuple[Collection[int], ...] = (found.chunks, behind.entities, behind.relations)
    ways = sorted((list(rows).index(chunk), order) for order, rows in enumerate(rankings) if chunk in rows)
    here, paths = graph.place_of(chunk), []
    for _, way in ways:
        if way == 0:
            paths += (found.paths_to and found.paths_to(chunk)) or [[here]]
        elif way == 1:
            paths.append([*_to_entity(graph, found, behind.entities[chunk]), here])
        else:
            paths.append([*_to_relation(graph, found, behind.relations[chunk]), here])
    return paths


def _to_entity(graph: Adjacency, found: Found, entity: int) -> Path:
    if found.entities.get(entity) is not None:
        return [graph.name_of(entity)]
    led = (row for row, score in found.relations.items() if score is not None and entity in graph.endpoints[row])
    return [*(_ends(graph, row) for row in islice(led, 1)), graph.name_of(entity)]


def _to_relation(graph: Adjacency, found: Found, relation: int) -> Path:
    if found.relations.get(relation) is not None:
        return [_ends(graph, relation)]
    led = (row for row, score in found.entities.items() if score is not None and row in graph.endpoints[relation])
    return [*(graph.name_of(row) for row in islice(led, 1)), _ends(graph, relation)]


def _ends(graph: Adjacency, relation: int) -> str:
    one, other = graph.endpoints[relation]
    return f"{graph.name_of(one)} — {graph.name_of(other)}"
