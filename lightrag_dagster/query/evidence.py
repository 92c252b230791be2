"""What allowed chunks say of entities and relations, merged by the rules of `merging/` without a model."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster.identity import entity_id

_MOST_DESCRIPTIONS = 7
"""Descriptions that are joined, the longest first: the merge asks for a summary of more."""


class EntityMention(NamedTuple):
    """What one mention says of an entity."""

    name: str
    type: str
    description: str


class RelationMention(NamedTuple):
    """What one mention says of a relation; src and tgt are spelled as extracted, in either order."""

    src: str
    tgt: str
    keywords: str
    description: str


class Evidence:
    """The mentions in some chunks of a generation; threads may share it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, chunk_ids: Sequence[str]) -> None:
        """Take a connection with the views of the generation, and the chunks that may be read."""
        self._connection = connection
        self._allowed = pa.table({"chunk_id": pa.array(chunk_ids, pa.string())})

    def of_entities(self, ids: Sequence[str]) -> dict[str, list[EntityMention]]:
        """Return the mentions of entities by id; those that have none are left out."""
        found = defaultdict(list)
        for one, *mention in self._rows("entity", EntityMention._fields, ids):
            found[one].append(EntityMention(*mention))
        return dict(found)

    def of_relations(self, ids: Sequence[str]) -> dict[str, list[RelationMention]]:
        """Return the mentions of relations by id."""
        found = defaultdict(list)
        for one, *mention in self._rows("relation", RelationMention._fields, ids):
            found[one].append(RelationMention(*mention))
        return dict(found)

    def weights(self) -> dict[str, float]:
        """Return the weights of the mentions added up, of every relation that has any, by id."""
        rows = self._query(
            "SELECT relation_id, list_sum(list(weight ORDER BY weight)) AS weight"
            " FROM relation_evidence SEMI JOIN allowed USING (chunk_id) GROUP BY relation_id"
        )
        return dict(rows.fetchall())

    def _rows(self, kind: str, columns: Iterable[str], ids: Sequence[str]) -> list[tuple[str, ...]]:
        key = f"{kind}_id"
        wanted = pa.table({key: pa.array(ids, pa.string())})
        return self._query(
            f"SELECT {key}, {', '.join(columns)} FROM {kind}_evidence"
            f" SEMI JOIN wanted USING ({key}) SEMI JOIN allowed USING (chunk_id)",
            wanted=wanted,
        ).fetchall()

    def _query(self, statement: str, **tables: pa.Table) -> duckdb.DuckDBPyConnection:
        cursor = self._connection.cursor()
        for name, table in {"allowed": self._allowed, **tables}.items():
            cursor.register(name, table)
        return cursor.execute(statement)


def merged_entity(mentions: Sequence[EntityMention]) -> EntityMention:
    """Return the most frequent spelling and type, ties by the alphabet, and the distinct descriptions joined."""
    name = _most_frequent(mention.name for mention in mentions)
    described = joined(mention.description for mention in mentions)
    return EntityMention(name, _most_frequent(mention.type for mention in mentions), described or f"Entity {name}")


def as_endpoint(entity: str, mentions: Iterable[RelationMention]) -> list[EntityMention]:
    """Return what relations say of an entity that they alone name; `entity` is its id."""
    return [
        EntityMention(name, "unknown", mention.description)
        for mention in mentions
        for name in (mention.src, mention.tgt)
        if entity_id(name) == entity
    ]


def joined(descriptions: Iterable[str]) -> str:
    """Return the distinct descriptions joined by <SEP>, longest first, without those that a summary would cover."""
    distinct = {text for text in map(str.strip, descriptions) if text}
    return "<SEP>".join(sorted(distinct, key=lambda text: (-len(text), text))[:_MOST_DESCRIPTIONS])


def joined_keywords(mentions: Iterable[RelationMention]) -> str:
    """Return the distinct keywords, sorted, comma-separated."""
    words = (word.strip() for mention in mentions for word in mention.keywords.split(","))
    return ",".join(sorted({word for word in words if word}))


def _most_frequent(values: Iterable[str]) -> str:
    votes = Counter(values)
    return min(votes, key=lambda value: (-votes[value], value))
