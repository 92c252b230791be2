"""The drawing of a page: entities, or the communities of a graph with too many of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.groups import Groups, colours
from lightrag_dagster.report.layout import SETTLED, Edges, Numbers, Places, place


@dataclass(frozen=True)
class Drawing:
    """Nodes with their places, sizes and groups, and the edges between them."""

    kind: str
    """`entities` or `communities`."""

    places: Places
    sizes: npt.NDArray[np.float64]
    groups: Numbers
    """The group of each node, by which it is coloured; -1 is none."""

    colours: list[str]
    edges: Edges
    left_out: list[str]
    data: dict[str, Any]
    """The columns for the page."""


def drawing_of(
    groups: Groups, degrees: npt.NDArray[Any], every: Edges, listed: int, kept: Edges, bounds: PageBounds
) -> Drawing:
    """Return the drawing of a graph.

    Args:
        groups: those of all entities, the strongest entities first.
        degrees: the number of relations of each entity.
        every: all relations, between the numbers of entities.
        listed: the number of entities that the page lists, the first ones.
        kept: the relations that the page lists, between listed entities.
        bounds: the most that is drawn.
    """
    if groups.kind != "community" and listed > SETTLED:
        drawn = min(bounds.communities, listed)
        first = kept.among(np.arange(drawn), listed)
        note = f"the picture has the {drawn:,} entities with most relations alone, since no communities are known"
        return _of_entities(groups, degrees[:drawn], first, [note])
    if len(degrees) <= listed or groups.kind != "community":
        return _of_entities(groups, degrees[:listed], kept, [])
    return _of_communities(groups, every, listed, bounds)


def _of_entities(groups: Groups, degrees: npt.NDArray[Any], kept: Edges, left_out: list[str]) -> Drawing:
    parts, wholes = groups.parts[: len(degrees)], groups.wholes[: len(degrees)]
    used = np.unique(parts[parts >= 0])
    sizes = degrees.astype(np.float64)
    parents = groups.parents[used].astype(np.int64)
    places = place(np.where(parts >= 0, np.searchsorted(used, parts), -1), parents, kept, sizes)
    return Drawing(
        "entities",
        places,
        sizes,
        wholes,
        colours(len(groups.names)),
        kept,
        left_out,
        {"kind": "entities", "name": [], **_columns(places)},
    )


def _of_communities(groups: Groups, every: Edges, listed: int, bounds: PageBounds) -> Drawing:
    """Draw the largest of the smallest communities, and the strongest links between them."""
    of_entity, names, parents = groups.parts, groups.part_names, groups.parents
    sizes = np.bincount(of_entity[of_entity >= 0], minlength=len(names))
    largest = np.argsort(-sizes, kind="stable")[: bounds.communities]
    number = np.full(len(names) + 1, -1)
    number[largest] = np.arange(len(largest))
    node_of = number[of_entity]
    links = every.between(node_of)
    strongest = np.argsort(-links.weights, kind="stable")[: bounds.links]
    unlinked = len(links.weights) - len(strongest)
    links = Edges(links.sources[strongest], links.targets[strongest], links.weights[strongest])
    _, families = np.unique(parents[largest], return_inverse=True)
    # Each is a group of its own for the layout, kept together with the others of its whole.
    places = place(np.arange(len(largest)), families.astype(np.int64), links, sizes[largest].astype(np.float64))
    members: list[list[int]] = [[] for _ in largest]
    for entity, node in enumerate(node_of[:listed].tolist()):
        if node >= 0:
            members[node].append(entity)
    return Drawing(
        "communities",
        places,
        sizes[largest].astype(np.float64),
        parents[largest],
        colours(len(groups.names)),
        links,
        _left_out(listed, of_entity, sizes, largest, (len(links.weights), unlinked)),
        {
            "kind": "communities",
            **_columns(places),
            "name": [names[one] for one in largest.tolist()],
            "size": sizes[largest].tolist(),
            "group": parents[largest].tolist(),
            "members": members,
            "node_of": node_of[:listed].tolist(),
            "links": {
                "a": links.sources.tolist(),
                "b": links.targets.tolist(),
                "weight": [round(one, 2) for one in links.weights.tolist()],
            },
        },
    )


def _left_out(listed: int, of_entity: Numbers, sizes: Numbers, drawn: Numbers, links: tuple[int, int]) -> list[str]:
    """Return a line for each thing that a picture of communities lacks; `links` are those drawn, and all others."""
    notes = [f"nodes are communities, since there are more than {listed:,} entities"]
    if undrawn := int(sizes.sum() - sizes[drawn].sum()):
        notes.append(
            f"entities in communities that are too small to be drawn: {undrawn:,}, in {len(sizes) - len(drawn):,}; "
            "`lightrag-dagster communities` lists them"
        )
    if not links[0]:
        notes.append("no relation joins two of these communities, so that no line is drawn")
    if links[1]:
        notes.append(f"links between communities, of which the strongest are drawn: {links[1]:,} more")
    if alone := int((of_entity < 0).sum()):
        notes.append(f"entities without a relation, which are in no community and not drawn: {alone:,}")
    return notes


def _columns(places: Places) -> dict[str, list[float]]:
    return {
        "x": [round(one, 1) for one in places[:, 0].tolist()],
        "y": [round(one, 1) for one in places[:, 1].tolist()],
    }
