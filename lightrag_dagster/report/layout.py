"""Places of nodes on a plane: groups side by side, their members around the middle of each, the same every time.

Members of small groups, and groups among each other, are moved by springs along relations and pushed apart, after
Fruchterman and Reingold, "Graph Drawing by Force-directed Placement", 1991; large groups are a spiral of sunflowers,
those with most relations inside.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_GOLDEN = np.pi * (3 - np.sqrt(5))
_SPACE = 10.0
"""Distance of neighbours in a group."""

_SPRINGS = 300
"""Nodes of a group that springs move; forces between all pairs of more would take too long."""

SETTLED = 1_500
"""Nodes of a graph that is moved as a whole at last."""


class Edges(NamedTuple):
    """Edges between nodes, given by their numbers."""

    sources: Numbers
    targets: Numbers
    weights: npt.NDArray[np.float64]

    def among(self, nodes: Numbers, count: int) -> "Edges":
        """Return the edges between some of `count` nodes, with numbers of their own."""
        number = np.full(count, -1)
        number[nodes] = np.arange(len(nodes))
        sources, targets = number[self.sources], number[self.targets]
        kept = (sources >= 0) & (targets >= 0)
        return Edges(sources[kept], targets[kept], self.weights[kept])

    def between(self, groups: Numbers) -> "Edges":
        """Return the edges between groups of nodes, each pair once with its weights in sum; -1 is none."""
        first, second = groups[self.sources], groups[self.targets]
        across = (first != second) & (first >= 0) & (second >= 0)
        low, high = np.minimum(first, second)[across], np.maximum(first, second)[across]
        pairs, where = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        sums = np.bincount(where.ravel(), weights=self.weights[across], minlength=len(pairs)).astype(np.float64)
        return Edges(pairs[:, 0], pairs[:, 1], sums)


def place(groups: Numbers, parents: Numbers, edges: Edges, sizes: npt.NDArray[np.float64]) -> Places:
    """Return the place of each node, with the middle at 0, 0.

    Args:
        groups: the group of each node, from 0; -1 for those in none, which are put around all others.
        parents: for each group the larger one that it is a part of; these stay together.
        edges: the edges of the nodes. Nodes are in order, the most important first.
        sizes: how large nodes are beside each other; large ones get more room.
    """
    count = len(groups)
    wholes = np.where(groups >= 0, np.append(parents, -1)[groups], -1)
    parts = _nested(groups, parents, edges)
    places = np.zeros((count, 2))
    for group in range(len(parents)):
        nodes = np.flatnonzero(groups == group)
        places[nodes] = parts[group] + _within(edges.among(nodes, count), len(nodes))
    if len(parents) < count <= SETTLED:
        inside = np.flatnonzero(groups >= 0)
        kin = wholes[inside]
        settled = _spring(places[inside], edges.among(inside, count), _SPACE * 1.6, kin, steps=60, heat=2.0)
        room = _SPACE * (0.3 + 0.6 * np.sqrt(sizes[inside] / max(sizes.max(), 1.0)))
        places[inside] = _packed(settled, room, pull=0.002)
    alone = np.flatnonzero(groups < 0)
    if len(alone):
        places[alone] = _around(np.hypot(*places.T).max(initial=0.0) + _SPACE * 2, len(alone), _SPACE)
    middle: Places = (places.min(axis=0, initial=0.0) + places.max(axis=0, initial=0.0)) / 2
    return places - middle


def sunflower(number: int) -> Places:
    """Return places in a spiral that fills a disc evenly, with a distance of about 1."""
    turns = np.arange(number)
    return np.asarray(np.sqrt(turns)[:, None] * _direction(turns))


def _around(reach: float, number: int, space: float) -> Places:
    """Return places in a spiral around a disc, with a distance of about `space`."""
    turns = int((reach / space) ** 2) + 1 + np.arange(number)
    return np.asarray(space * np.sqrt(turns)[:, None] * _direction(turns))


def _direction(turns: npt.NDArray[Any]) -> Places:
    return np.stack([np.cos(turns * _GOLDEN), np.sin(turns * _GOLDEN)], axis=1)


def _nested(groups: Numbers, parents: Numbers, edges: Edges) -> Places:
    """Return the middle of each group: the larger ones are discs side by side, and their parts discs in these."""
    number = int(parents.max(initial=-1)) + 1
    radii = _radius(np.bincount(groups[groups >= 0], minlength=len(parents)))
    wholes = np.where(groups >= 0, np.append(parents, -1)[groups], -1)
    middles, reach = np.zeros((len(parents), 2)), np.zeros(number)
    joined = edges.between(groups)
    for whole in range(number):
        parts = np.flatnonzero(parents == whole)
        places = _settled(joined.among(parts, len(parents)), radii[parts])
        middles[parts] = places - (places.min(axis=0, initial=0.0) + places.max(axis=0, initial=0.0)) / 2
        reach[whole] = (np.hypot(*middles[parts].T) + radii[parts]).max(initial=0.0)
    return middles + _settled(edges.between(wholes), reach + _SPACE)[parents]


def _settled(edges: Edges, radii: npt.NDArray[np.float64]) -> Places:
    """Return places of discs, none on another: of the largest, joined ones near each other; the others around them."""
    places = np.zeros((len(radii), 2))
    if not len(radii):
        return places
    by_size = np.argsort(-radii, kind="stable")
    large, small = np.sort(by_size[:_SPRINGS]), by_size[_SPRINGS:]
    length = float(2 * np.sqrt((radii[large] ** 2).mean()))
    moved = _spring(sunflower(len(large)) * length, edges.among(large, len(radii)), length)
    places[large] = _packed(moved, radii[large], pull=0.03)
    if len(small):
        reach = (np.hypot(*places[large].T) + radii[large]).max()
        space = float(2 * radii[small].max())
        places[small] = _around(reach + space, len(small), space)
    return places


def _radius(members: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the radius of discs for some numbers of members."""
    return np.asarray(_SPACE * 0.6 * np.sqrt(members) + _SPACE * 0.3)


def _within(edges: Edges, number: int) -> Places:
    """Return places of the members of one group in a disc around 0, 0, which they fill evenly."""
    places = sunflower(number)
    if number > 2:
        if number <= _SPRINGS:
            places = _spring(places, edges, 1.0)
        places = places - places.mean(axis=0)
        distances = np.maximum(np.hypot(*places.T), 1e-9)
        ranks = np.argsort(np.argsort(distances, kind="stable"), kind="stable")
        places = places / distances[:, None] * np.sqrt((ranks + 0.5) / number)[:, None]
    return np.asarray(places * _SPACE * 0.6 * np.sqrt(number))


def _spring(
    places: Places, edges: Edges, length: float, kin: Numbers | None = None, steps: int = 120, heat: float = 6.0
) -> Places:
    """Return the places after springs have pulled joined nodes together, and all nodes have pushed each other away.

    `kin` are numbers of families, whose members are drawn to their middle.
    """
    places, number = places.copy(), len(places)
    if number < 2:
        return places
    pull = np.log1p(edges.weights)
    pull = pull / (pull.mean() or 1.0) if len(pull) else pull
    degree = np.bincount(edges.sources, minlength=number) + np.bincount(edges.targets, minlength=number)
    pull = pull / np.sqrt(np.maximum(1, np.minimum(degree[edges.sources], degree[edges.targets])))
    for step in range(steps):
        across, down = _apart(places)
        force = length**2 / np.maximum(across**2 + down**2, (length / 100) ** 2)
        moves = np.stack([(across * force).sum(axis=0), (down * force).sum(axis=0)], axis=1)
        along = places[edges.sources] - places[edges.targets]
        drawn = along * (np.hypot(*along.T) / length * pull)[:, None]
        for axis in range(2):
            moves[:, axis] -= np.bincount(edges.sources, weights=drawn[:, axis], minlength=number)
            moves[:, axis] += np.bincount(edges.targets, weights=drawn[:, axis], minlength=number)
        if kin is not None:
            moves += (_middles(places, kin) - places) * 0.5
        moves -= places * 0.05  # what nothing holds would drift away
        far = np.maximum(np.hypot(*moves.T), 1e-9)
        most = length * heat * 0.1 * (1 - step / steps)
        places += moves * (np.minimum(far, most) / far)[:, None]
    return places


def _middles(places: Places, kin: Numbers) -> Places:
    """Return for each node the middle of its family."""
    sizes = np.maximum(np.bincount(kin), 1)
    sums = [np.bincount(kin, weights=places[:, axis]) / sizes for axis in range(2)]
    return np.stack(sums, axis=1)[kin]


def _packed(places: Places, radii: npt.NDArray[np.float64], pull: float, steps: int = 120) -> Places:
    """Return the places after discs were drawn to the middle, and those that overlap pushed each other apart."""
    places = places.copy()
    if len(places) < 2:
        return places
    touching = radii[:, None] + radii[None, :]
    np.fill_diagonal(touching, 0.0)
    for step in range(steps):
        places -= (places - places.mean(axis=0)) * pull * (1 - step / steps)
        across, down = _apart(places)
        distances = np.maximum(np.sqrt(across**2 + down**2), 1e-6)
        force = np.maximum(touching - distances, 0.0) * 0.3
        moves = [(across / distances * force).sum(axis=0), (down / distances * force).sum(axis=0)]
        places += np.stack(moves, axis=1)
    return places


def _apart(places: Places) -> tuple[Places, Places]:
    """Return the way from each place, by row, to each other, by column, along both axes."""
    x, y = places.T
    return x[None, :] - x[:, None], y[None, :] - y[:, None]
