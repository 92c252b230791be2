"""What allowed chunks say of entities and relations, merged by the rules of `merging/` without a model."""

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster.core.identity import entity_id

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
        """Take an in-memory database with the views of the generation, and the chunks that may be read.

        The mentions are kept in memory, or in a temporary file when they are many.
        """
        self._connection = connection
        connection.execute("SET memory_limit = '512MB'")
        connection.execute("SET temp_directory = $1", [str(Path(tempfile.gettempdir()) / f"lightrag-{os.getpid()}")])
        connection.register("allowed", pa.table({"chunk_id": pa.array(chunk_ids, pa.string())}))
        for kind, columns in _COLUMNS.items():
            connection.execute(
                f"CREATE TABLE said_of_{kind} AS SELECT {kind}_id AS id, {', '.join(columns)}"
                f" FROM {kind}_evidence SEMI JOIN allowed USING (chunk_id)"
            )

    def of_entities(self, ids: Sequence[str]) -> dict[str, list[EntityMention]]:
        """Return the mentions of entities by id; those that have none are left out."""
        found = defaultdict(list)
        for one, *mention in self._said("entity", ids):
            found[one].append(EntityMention(*mention))
        return dict(found)

    def of_relations(self, ids: Sequence[str]) -> dict[str, list[RelationMention]]:
        """Return the mentions of relations by id."""
        found = defaultdict(list)
        for one, *mention, _ in self._said("relation", ids):
            found[one].append(RelationMention(*mention))
        return dict(found)

    def weights(self) -> dict[str, float]:
        """Return the weights of the mentions added up, of every relation that has any, by id."""
        statement = "SELECT id, list_sum(list(weight ORDER BY weight)) FROM said_of_relation GROUP BY id"
        return dict(self._connection.cursor().execute(statement).fetchall())

    def _said(self, kind: str, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        if not ids:
            return []
        cursor = self._connection.cursor()
        cursor.register("wanted", pa.table({"id": pa.array(ids, pa.string())}))
        return cursor.execute(f"FROM said_of_{kind} SEMI JOIN wanted USING (id)").fetchall()


_COLUMNS = {"entity": EntityMention._fields, "relation": (*RelationMention._fields, "weight")}


def merged_entity(mentions: Sequence[EntityMention]) -> EntityMention:
    """Return the most frequent spelling and type, ties by the alphabet, and the distinct descriptions joined."""
    name = _most_frequent(mention.name for mention in mentions)
    described = joined(mention.description for mention in mentions)
    kind = _most_frequent(mention.type.lower() for mention in mentions)
    return EntityMention(name, kind, described or f"Entity {name}")


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
