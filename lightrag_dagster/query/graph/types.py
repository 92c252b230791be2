"""Results of questions to the graph: plain frozen data, ready for JSON by `to_dict`."""

from dataclasses import dataclass
from typing import Literal

from lightrag_dagster.query.types import Brief, Told

Kind = Literal["id", "exact", "alias", "prefix", "word", "similar"]
Way = Literal["hops", "weight"]
OF_RELATION = ("relation_id", "keywords", "description", "weight")
"""Columns about the relation that leads to an entity."""


@dataclass(frozen=True, repr=False)
class Match(Brief):
    """An entity that a name may mean.

    `matched` is the name that documents give it and that fits, `kind` how it fits: `exact` its displayed name, `alias`
    another one, `prefix` begins with the text asked for, `word` holds its words, `similar` differs by some letters;
    `id` if an id was given. `likeness` is 0 to 1. `passages` is the number of passages that mention the entity.
    """

    entity_id: str
    name: str
    type: str
    passages: int
    matched: str
    kind: Kind
    likeness: float


@dataclass(frozen=True, repr=False)
class Choice(Told):
    """The entities that a name may mean, best first; `left_out` is the number of further ones."""

    name: str
    matches: tuple[Match, ...]
    left_out: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alias:
    """A name that documents give an entity, and in how many passages; 0 if only relations name it so."""

    name: str
    passages: int


@dataclass(frozen=True, repr=False)
class Quote(Brief):
    """The words of a document about an entity or relation: `text == document[char_start:char_end]`.

    `statement` is the description that was extracted from the passage; empty if it yielded none. `date` is that of the
    document, as it says itself, in ISO 8601. Pages and `heading` are those of the passage. A passage may have several
    places; the newest is cited, and `places` is their number.
    """

    text: str
    statement: str
    chunk_id: str
    source: str
    path: str
    doc_id: str
    date: str | None
    page: int | None
    page_end: int | None
    heading: str | None
    char_start: int
    char_end: int
    places: int


@dataclass(frozen=True, repr=False)
class Neighbour(Brief):
    """An entity near another, and the strongest relation that leads to it from `through`, one step nearer."""

    entity_id: str
    name: str
    type: str
    distance: int
    through_id: str
    through: str
    relation_id: str
    keywords: str
    description: str
    weight: float


@dataclass(frozen=True, repr=False)
class Profile(Told):
    """All about one entity: names, evidence by date, newest first, and neighbours by weight.

    Lists are cut; the `…_left_out` count the rest.
    """

    entity_id: str
    name: str
    type: str
    description: str
    degree: int
    passages: int
    sources: tuple[str, ...]
    aliases: tuple[Alias, ...]
    aliases_left_out: int
    evidence: tuple[Quote, ...]
    evidence_left_out: int
    neighbours: tuple[Neighbour, ...]
    neighbours_left_out: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Neighbourhood(Told):
    """The entities within some hops of one, nearest first, then by the weight of the relation that leads there.

    `counts` are the numbers of entities at each distance, from 1; `left_out` is the number that is not listed.
    """

    entity_id: str
    name: str
    type: str
    hops: int
    counts: tuple[int, ...]
    neighbours: tuple[Neighbour, ...]
    left_out: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class PathStep(Brief):
    """One step of a path: from an entity over a relation to the next, with the newest evidence of the relation."""

    src_id: str
    src: str
    tgt_id: str
    tgt: str
    relation_id: str
    keywords: str
    description: str
    weight: float
    evidence: tuple[Quote, ...]
    evidence_left_out: int


@dataclass(frozen=True, repr=False)
class GraphPath(Brief):
    """A path: the shortest by `hops`, or by `weight` the one with the smallest `length`, the sum of 1 / weight.

    It is the first of equal ones, compared by the ids of their entities from the start. `length` is null if a relation
    on it has no weight above 0.
    """

    by: Way
    hops: int
    length: float | None
    names: tuple[str, ...]
    steps: tuple[PathStep, ...]


@dataclass(frozen=True, repr=False)
class Connection(Told):
    """The paths between two entities.

    If no path exists, `components` are the numbers of entities that can be reached from each, itself included.
    """

    src_id: str
    src: str
    tgt_id: str
    tgt: str
    paths: tuple[GraphPath, ...]
    components: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
