"""The contents of a page: what of a snapshot, or of its view by a filter, is shown, in columns."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Rows
from lightrag_dagster.query.graph.citing import newest_quotes
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.report.bounds import PageBounds
from lightrag_dagster.report.drawing import Drawing, drawing_of
from lightrag_dagster.report.evidence import SourceSets, evidence_of
from lightrag_dagster.report.fitting import Fitting
from lightrag_dagster.report.groups import Groups, groups_of
from lightrag_dagster.report.layout import Edges


@dataclass(frozen=True)
class PageContents:
    """The parts of a page: columns ready for JSON, the drawing, numbers, and a sentence for each part left out."""

    data: dict[str, Any]
    drawing: Drawing
    figures: dict[str, int]
    left_out: list[str]


def contents_of(seen: Snapshot, bounds: PageBounds, changes: dict[str, Any] | None = None) -> PageContents:
    """Return the parts of a page about a snapshot: entities with most relations and their strongest relations.

    Raises:
        StoreError: a table of the snapshot is missing or damaged.
    """
    graph = seen.graph
    fit = Fitting(bounds.bytes)
    chosen = _choose(seen.graph, bounds)
    sources = SourceSets(graph)
    data = _columns(graph, chosen, bounds, fit, sources) | {"changes": changes}
    if not fit.take(data) and bounds.entities:  # names of giant size, or thousands of sources
        fewer = {name: getattr(bounds, name) // 2 for name in ("entities", "relations", "communities")}
        return contents_of(seen, replace(bounds, **fewer), changes)
    descriptions = chosen.table["description"].to_pylist()
    data["entities"]["description"] = fit.column("descriptions", descriptions, bounds.description)
    keywords = graph.relations.table_of(chosen.kept)["keywords"].to_pylist()
    data["relations"]["keywords"] = fit.column("keywords of relations", keywords, bounds.name)
    quotes = newest_quotes(seen, chosen.listed, bounds.quotes)
    data["quotes"], data["documents"] = evidence_of(graph, sources.names, quotes, fit, bounds)
    drawing = chosen.drawing
    entities = len(chosen.entities)
    relations = len(chosen.relations)
    figures = {
        "entities": entities,
        "relations": relations,
        "communities": len(chosen.groups.names) if chosen.groups.kind == "community" else 0,
        "listed_entities": len(chosen.listed),
        "listed_relations": len(chosen.kept),
        "drawn_nodes": len(drawing.places),
        "drawn_edges": len(drawing.edges.weights),
        "quotes": len(data["quotes"]["text"]),
    }
    left_out = [
        *chosen.notes,
        *_beyond("entities, of which those with most relations are listed", entities - len(chosen.listed)),
        *_beyond("relations, of which the strongest among listed entities are kept", relations - len(chosen.kept)),
        *drawing.left_out,
        *_beyond("passages, of which the newest of each entity are quoted", int(chosen.passages.sum()) - len(quotes)),
        *fit.notes(),
    ]
    return PageContents(data, drawing, figures, left_out)


class _Chosen(NamedTuple):
    """The rows on a page: of all entities and relations that may be seen, those listed, drawn, and in groups.

    `table` has the rows of the listed entities, `passages` the number of passages of each; `edges` are the kept
    relations, between positions in the list.
    """

    entities: Rows
    listed: Rows
    relations: Rows
    kept: Rows
    edges: Edges
    table: pa.Table
    passages: Rows
    groups: Groups
    notes: list[str]
    drawing: Drawing


def _choose(graph: Adjacency, bounds: PageBounds) -> _Chosen:
    """Choose the rows for a page, and draw them."""
    passages = np.diff(graph.entity_chunks.offsets)
    entities = _strongest_entities(graph, passages)
    listed, relations = entities[: bounds.entities], _strongest_relations(graph)
    weights, ends = graph.relations.values("weight"), _renumbered(graph, entities)
    every = Edges(ends[relations, 0], ends[relations, 1], weights[relations])
    within = (every.sources < len(listed)) & (every.targets < len(listed))
    kept = relations[within][: bounds.relations]
    edges = Edges(ends[kept, 0], ends[kept, 1], weights[kept])
    table = graph.entities.table_of(entities)
    groups, notes = groups_of(table, _relation_table(graph, relations))
    drawing = drawing_of(groups, np.asarray(table["degree"]), every, len(listed), edges, bounds)
    first = table.slice(0, len(listed))
    return _Chosen(entities, listed, relations, kept, edges, first, passages[listed], groups, notes, drawing)


def _columns(
    graph: Adjacency, chosen: _Chosen, bounds: PageBounds, fit: Fitting, sources: SourceSets
) -> dict[str, Any]:
    """Return the columns of a page, except of descriptions, keywords and quotes, which get the room that is left."""
    table, groups, drawing = chosen.table, chosen.groups, chosen.drawing
    types, type_of = _numbered(table["type"].to_pylist())
    return {
        "entities": {
            "id": table["entity_id"].to_pylist(),
            "name": [fit.short(one, bounds.name, "names") for one in table["name"].to_pylist()],
            "type": type_of,
            "degree": table["degree"].to_pylist(),
            "passages": chosen.passages.tolist(),
            "sources": sources.of(graph.entity_chunks, chosen.listed),
            "group": groups.wholes[: len(chosen.listed)].tolist(),
        },
        "relations": {
            "a": chosen.edges.sources.tolist(),
            "b": chosen.edges.targets.tolist(),
            "weight": [round(one, 2) for one in chosen.edges.weights.tolist()],
            "sources": sources.of(graph.relation_chunks, chosen.kept),
        },
        "types": [fit.short(one, bounds.name, "types") for one in types],
        "group_kind": groups.kind,
        "groups": [fit.short(one, bounds.name, "names of groups") for one in groups.names],
        "colours": drawing.colours,
        "drawn": {
            **drawing.data,
            "name": [fit.short(one, bounds.name, "names of groups") for one in drawing.data["name"]],
        },
        "sources": sources.names,
        "source_sets": sources.sets,
    }


def _strongest_entities(graph: Adjacency, passages: Rows) -> Rows:
    """Return the entities that may be seen, those with most relations first, then those with most passages."""
    degrees = graph.entities.values("degree")
    rows = np.flatnonzero((passages > 0) | (degrees > 0))
    return rows[np.lexsort((rows, -passages[rows], -degrees[rows]))].astype(np.int32)


def _strongest_relations(graph: Adjacency) -> Rows:
    """Return the relations that may be seen, by weight."""
    rows = np.flatnonzero(np.diff(graph.relation_chunks.offsets) > 0)
    return rows[np.lexsort((rows, -graph.relations.values("weight")[rows]))].astype(np.int32)


def _renumbered(graph: Adjacency, entities: Rows) -> Rows:
    """Return both ends of each relation as positions in a list of entities; -1 for those that are not in it."""
    number = np.full(len(graph.entities.ids), -1)
    number[entities] = np.arange(len(entities))
    return number[graph.endpoints]


def _relation_table(graph: Adjacency, rows: Rows) -> pa.Table:
    """Return the ends and the weight of relations, in order of rows."""
    ends = graph.endpoints[np.sort(rows)]
    return pa.table(
        {
            "src_id": pa.array(graph.entities.ids_at(ends[:, 0]), pa.string()),
            "tgt_id": pa.array(graph.entities.ids_at(ends[:, 1]), pa.string()),
            "weight": graph.relations.values("weight")[np.sort(rows)],
        }
    )


def _numbered(values: list[str]) -> tuple[list[str], list[int]]:
    """Return the distinct values, sorted, and the number of each value among them."""
    names = sorted(set(values))
    number = {name: at for at, name in enumerate(names)}
    return names, [number[one] for one in values]


def _beyond(name: str, number: int) -> list[str]:
    return [f"{name}: {number:,} more"] if number else []
