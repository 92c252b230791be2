"""All about one entity, and the entities around it."""

import numpy as np

from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.graph.citing import evidence_of, names_of, sources_of
from lightrag_dagster.query.graph.finding import resolve
from lightrag_dagster.query.graph.types import OF_RELATION, Alias, Neighbour, Neighbourhood, Profile
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.walking import Distances, hops_from, links_of


def entity(seen: Snapshot, name: str, limit: int) -> Profile:
    """Return all about the entity of a name, at most `limit` of each list; raises as `resolve`."""
    row, notes = resolve(seen, name)
    graph = seen.graph
    (known,) = graph.entities.take(np.array([row], dtype=np.int32))
    aliases = [Alias(**one) for one in seen.statements.rows("aliases", entities=[known["entity_id"]]).to_pylist()]
    others = [one for one in aliases if one.name != known["name"]]
    cited = evidence_of(seen, "entity", row, names_of(seen, np.array([row], dtype=np.int32)), limit)
    near, left_out = _strongest(seen, hops_from(graph, row, 1), 1, limit)
    chunks = graph.entity_chunks.of(row)
    return Profile(
        **known,
        passages=len(chunks),
        sources=sources_of(graph, chunks),
        aliases=tuple(others[:limit]),
        aliases_left_out=max(0, len(others) - limit),
        evidence=cited.quotes,
        evidence_left_out=cited.left_out,
        neighbours=near,
        neighbours_left_out=left_out,
        notes=(*notes, *seen.notes),
    )


def neighbours(seen: Snapshot, name: str, hops: int, limit: int) -> Neighbourhood:
    """Return the entities within some hops of the entity of a name, at most `limit`; raises as `resolve`."""
    row, notes = resolve(seen, name)
    distances = hops_from(seen.graph, row, hops)
    reached = distances[np.isfinite(distances)].astype(int)
    near, left_out = _strongest(seen, distances, hops, limit)
    (known,) = seen.graph.entities.take(np.array([row], dtype=np.int32))
    return Neighbourhood(
        **{column: known[column] for column in ("entity_id", "name", "type")},
        hops=hops,
        counts=tuple(np.bincount(reached)[1:].tolist()),
        neighbours=near,
        left_out=left_out,
        notes=(*notes, *seen.notes),
    )


def _strongest(seen: Snapshot, distances: Distances, hops: int, limit: int) -> tuple[tuple[Neighbour, ...], int]:
    """Return the entities that were reached, by distance and then weight, at most `limit`; and the number of others."""
    graph, weights = seen.graph, seen.graph.relations.values("weight")
    total = int(np.isfinite(distances).sum()) - 1
    picked: list[Rows] = []
    for distance in range(1, hops + 1):
        ends = np.flatnonzero(distances == distance)
        if not len(ends) or sum(map(len, picked)) >= limit:
            break
        owners, relations, others = links_of(graph, ends)
        nearer = distances[others] == distance - 1
        rows = np.stack([owners, relations, others], axis=1)[nearer]
        # The strongest relation of each, of equal ones the one with the smallest id; then the strongest of all.
        rows = rows[np.lexsort((rows[:, 1], -weights[rows[:, 1]], rows[:, 0]))]
        rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
        picked.append(rows[np.lexsort((rows[:, 0], -weights[rows[:, 1]]))])
    reached, over, through = np.concatenate([np.zeros((0, 3), dtype=np.int64), *picked])[:limit].astype(np.int32).T
    taken = (graph.entities.take(reached), graph.relations.take(over), graph.entities.take(through))
    near = tuple(
        Neighbour(
            entity_id=one["entity_id"],
            name=one["name"],
            type=one["type"],
            distance=distance,
            through_id=nearer["entity_id"],
            through=nearer["name"],
            **{name: relation[name] for name in OF_RELATION},
        )
        for one, relation, nearer, distance in zip(*taken, distances[reached].astype(int).tolist(), strict=True)
    )
    return near, total - len(near)
