"""Results of questions about facts: plain frozen data, ready for JSON by `to_dict`."""

from collections.abc import Iterator
from dataclasses import dataclass

from lightrag_dagster.query.facts.conditions import By
from lightrag_dagster.query.types import Brief, Fact, FactCitation, Told


@dataclass(frozen=True, repr=False)
class FactList(Told):
    """Facts, newest first; `left_out` is the number of further ones. It is a sequence of its `facts`."""

    facts: tuple[Fact, ...]
    left_out: int
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, place: int) -> Fact:
        return self.facts[place]


@dataclass(frozen=True, repr=False)
class FactCount(Brief):
    """A number of facts, and the newest of them, each with its first citation; `left_out` is the number of the others.

    `key` is what they share: a relation, a type, a year of `valid_from`, a value as written, or the name of the entity
    `entity_id`; None for facts without, and for all facts.
    """

    key: str | None
    entity_id: str | None
    count: int
    fact_ids: tuple[str, ...]
    citations: tuple[FactCitation, ...]
    left_out: int


@dataclass(frozen=True, repr=False)
class FactCounts(Told):
    """Numbers of facts, the highest first, by year the latest.

    `total` is the number of all facts, `left_out` that of further numbers.
    """

    by: By | None
    total: int
    counts: tuple[FactCount, ...]
    left_out: int
    notes: tuple[str, ...] = ()
