"""The paths between two entities: the shortest by hops, and the strongest."""

import numpy as np

from lightrag_dagster.query.graph.citing import evidence_of, names_of
from lightrag_dagster.query.graph.finding import resolve
from lightrag_dagster.query.graph.types import OF_RELATION, Connection, GraphPath, PathStep, Way
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.walking import costs_of, hops_from, lengths_from, walk


def paths(seen: Snapshot, start: str, end: str, ways: tuple[Way, ...], limit: int) -> Connection:
    """Return the best path between the entities of two names in each way, with `limit` quotes for each step.

    Raises as `resolve`.
    """
    first, its_notes = resolve(seen, start, "the start")
    last, other_notes = resolve(seen, end, "the end")
    src, tgt = seen.graph.entities.take(np.array([first, last], dtype=np.int32))
    notes = [*its_notes, *other_notes, *seen.notes]
    found, components = list[GraphPath](), None
    hops = hops_from(seen.graph, last)
    if np.isinf(hops[first]):
        components = (int(np.isfinite(hops_from(seen.graph, first)).sum()), int(np.isfinite(hops).sum()))
    for way in ways if components is None else ():
        costs = costs_of(seen.graph) if way == "weight" else None
        left = hops if costs is None else lengths_from(seen.strengths, last)
        if np.isinf(left[first]):
            notes.append("each path has a relation without a weight above 0, so that none is the strongest")
        else:
            found.append(_told(seen, way, first, walk(seen.graph, first, left, costs), limit))
    return Connection(
        src["entity_id"], src["name"], tgt["entity_id"], tgt["name"], tuple(found), components, tuple(notes)
    )


def _told(seen: Snapshot, way: Way, start: int, walked: list[tuple[int, int]], limit: int) -> GraphPath:
    """Return a path with its evidence, from the relation and the entity of each step."""
    rows = np.array([start, *(entity for _, entity in walked)], dtype=np.int32)
    entities = seen.graph.entities.take(rows)
    relations = seen.graph.relations.take(np.array([relation for relation, _ in walked], dtype=np.int32))
    names = names_of(seen, rows)
    steps = []
    for at, ((row, _), relation) in enumerate(zip(walked, relations, strict=True)):
        cited = evidence_of(seen, "relation", row, names[at : at + 2], limit)
        src, tgt = entities[at : at + 2]
        steps.append(
            PathStep(
                src_id=src["entity_id"],
                src=src["name"],
                tgt_id=tgt["entity_id"],
                tgt=tgt["name"],
                **{name: relation[name] for name in OF_RELATION},
                evidence=cited.quotes,
                evidence_left_out=cited.left_out,
            )
        )
    weights = [one.weight for one in steps]
    length = sum(1 / weight for weight in weights) if all(weight > 0 for weight in weights) else None
    return GraphPath(way, len(steps), length, tuple(one["name"] for one in entities), tuple(steps))
