"""The decisions that act in a scope, by the names in the tables that it was given."""

from collections.abc import Mapping

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.rules import InForce, names_decided, within
from lightrag_dagster.fact_schemas import FACTS, kind_of
from lightrag_dagster.schemas import ENTITY_MENTIONS, RELATION_MENTIONS
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted

_NAMING = {
    "entity_mentions": (ENTITY_MENTIONS, ("name",)),
    "relation_mentions": (RELATION_MENTIONS, ("src", "tgt")),
    "facts": (FACTS, ("subject", "object")),
}
"""Tables of a source with the columns of names."""


def decisions_within(decided: InForce, home: Home, records: Mapping[str, Accepted]) -> InForce:
    """Return the decisions that act in a scope; `records` are the accepted tables in its home.

    Raises:
        DecisionError: they cannot all hold without the others.
        StoreError: a table is missing or damaged.
    """
    wanted = names_decided(decided)
    return within(decided, home.scope, wanted & _named(home, records) if wanted else wanted)


def _named(home: Home, records: Mapping[str, Accepted]) -> set[str]:
    """Return the ids of all names that these tables have."""
    tables, found = SourceTables(home), set[str]()
    with in_memory() as connection:
        for kind, (schema, columns) in _NAMING.items():
            paths = [
                path
                for source, record in records.items()
                for table, version in record.merged(record.passes).items()
                if kind_of(table) == kind
                for path in tables.open(table, source, version)
            ]
            view_files(connection, "naming", paths, schema)
            for column in columns:
                rows = connection.execute(f"SELECT DISTINCT {column} FROM naming WHERE {column} IS NOT NULL")
                found.update(name for (name,) in rows.fetchall())
    return {entity_id(name) for name in found}  # each once: of 100,000 names this takes half of the time
