"""The most that a page holds; what is beyond is counted in the page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PageBounds:
    """The most of each part of a page."""

    entities: int = 10_000
    """Rows of the table; a graph with more entities is drawn by its communities."""

    relations: int = 30_000
    communities: int = 300
    """Communities that are drawn as nodes; or entities, in a large graph of which no communities are known."""

    links: int = 1_500
    """Links between communities that are drawn."""

    name: int = 120
    """Characters of a name, a type or keywords."""

    path: int = 300
    """Characters of the path of a document."""

    description: int = 600
    quotes: int = 5
    """Quotes of an entity."""

    changes: int = 1_000
    """Differences from the snapshot before, of documents, entities and relations each."""

    facts: int = 200
    """Relations of facts, and pairs that contradict each other."""

    bytes: int = 14_000_000
    """Size of the data; code and style come on top, and the whole is to stay below 15 MB."""


BOUNDS = PageBounds()
