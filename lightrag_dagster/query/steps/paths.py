"""Paths by which passages were found: through entities or relations near the question, or directly."""

from collections.abc import Collection
from itertools import islice

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.query.hits import Found, Path
from lightrag_dagster.query.naming import name_of, place_of
from lightrag_dagster.query.steps.related_chunks import Related


def paths_behind(graph: Adjacency, found: Found, behind: Related, chunk: int) -> list[Path]:
    """Return the paths to a chunk that was found directly, through an entity or a relation, or both.

    The first is that of the ranking in which the chunk is highest, which gave it its place. An entity or relation that
    was found through the graph comes after the one, near the keywords, that led to it.
    """
    rankings: tuple[Collection[int], ...] = (found.chunks, behind.entities, behind.relations)
    ways = sorted((list(rows).index(chunk), order) for order, rows in enumerate(rankings) if chunk in rows)
    here, paths = place_of(graph, chunk), []
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
        return [name_of(graph, entity)]
    led = (row for row, score in found.relations.items() if score is not None and entity in graph.endpoints[row])
    return [*(_ends(graph, row) for row in islice(led, 1)), name_of(graph, entity)]


def _to_relation(graph: Adjacency, found: Found, relation: int) -> Path:
    if found.relations.get(relation) is not None:
        return [_ends(graph, relation)]
    led = (row for row, score in found.entities.items() if score is not None and row in graph.endpoints[relation])
    return [*(name_of(graph, row) for row in islice(led, 1)), _ends(graph, relation)]


def _ends(graph: Adjacency, relation: int) -> str:
    one, other = graph.endpoints[relation]
    return f"{name_of(graph, one)} — {name_of(graph, other)}"
