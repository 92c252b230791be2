"""The evidence in the documents that a filter allows, and the rows merged from it."""

from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.curation.rules import WrittenText
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import Lists, Rows
from lightrag_dagster.indexes.chunk_lists import chunk_lists, place_chunks
from lightrag_dagster.indexes.facts import fact_rows
from lightrag_dagster.query.statements import Statements
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging.evidence import merge_evidence, merge_fact_evidence
from lightrag_dagster.storage.manifests import WrittenRecord

_WRITTEN_TEXT = pa.schema(
    [("number", pa.int32()), ("column_name", pa.string()), ("text", pa.string()), ("sources", pa.list_(pa.string()))]
)
_MAPPED_TYPE = pa.schema([("given", pa.string()), ("type", pa.string())])


class Evidence:
    """The evidence in some documents of a generation; threads may share it."""

    entity_chunks: Lists
    relation_chunks: Lists
    weights: npt.NDArray[np.float64]
    """The weight of every relation; 0 without allowed evidence."""
    statements: Statements
    """The allowed mentions, for questions to the graph."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        documents: pa.Array,
        graph: Adjacency,
        settings: MergingSettings,
        written: Sequence[WrittenRecord] = (),
    ) -> None:
        """Take an in-memory database with the views of the generation, which the caller closes.

        `written` are the names, types and descriptions that people wrote for rows of the generation.
        """
        self._connection, self._graph, self.settings = connection, graph, settings
        connection.register("allowed_document", pa.table({"doc_id": documents}))
        connection.execute(read_sql(__package__, "view"))
        self._written = _visible(connection, written, settings) if written else ()
        self.statements = Statements(connection, {one.id: one.text for one in self._written if one.column == "name"})
        keeps_first = settings.chunk_limit_method == "KEEP"
        tables = (("entity", graph.entities), ("relation", graph.relations), ("chunk", graph.chunks))
        place_chunks(connection, {kind: table.rows.column(0) for kind, table in tables}, keeps_first=keeps_first)
        self.entity_chunks = chunk_lists(connection, "entity", "entity_chunks('said_of_entity', 'said_of_relation')")
        self.relation_chunks = chunk_lists(connection, "relation", "relation_chunks('said_of_relation')")
        mentioned = connection.execute("SELECT DISTINCT row FROM said_of_entity JOIN entity_row ON entity_id = id")
        self._mentioned = np.zeros(len(graph.entities.ids), dtype=bool)
        self._mentioned[mentioned.fetchnumpy()["row"]] = True
        weighed = connection.execute(
            "SELECT row, weight FROM summed_weights('weighed') JOIN relation_row USING (id)"
        ).fetchnumpy()
        self.weights = np.zeros(len(graph.relations.ids))
        self.weights[weighed["row"]] = weighed["weight"]
        # A question merges few rows. With threads of its own, the database could not be closed in a forked process.
        connection.execute("SET threads = 1; SET async_threads = 0")

    def merged(self, entities: Rows, relations: Rows, entity_relations: Lists) -> tuple[pa.Table, pa.Table]:
        """Merge the allowed evidence of some entities and relations; the result may hold a few more of them."""
        ends = np.union1d(entities, self._graph.endpoints[relations].ravel())
        # An entity without evidence of its own takes its name from all relations that end there.
        relations = np.union1d(relations, entity_relations.of_each(ends[~self._mentioned[ends]])[1])
        with self._connection.cursor() as cursor:
            for name, table, rows in (
                ("entity", self._graph.entities, ends),
                ("relation", self._graph.relations, relations),
            ):
                cursor.register(f"wanted_{name}", pa.table({f"{name}_id": pa.array(table.ids_at(rows), pa.string())}))
                cursor.execute(
                    f"CREATE TEMP TABLE {name} AS FROM said_of_{name} SEMI JOIN wanted_{name} USING ({name}_id)"
                )
            cited = "SELECT chunk_id FROM entity UNION SELECT chunk_id FROM relation"
            statements = ("FROM entity", "FROM relation", f"FROM place SEMI JOIN ({cited}) USING (chunk_id)")
            said, joined, chunks = (cursor.sql(statement).to_arrow_table() for statement in statements)
        return merge_evidence(said, joined, chunks, self.settings, self._written)

    def facts(self) -> pa.Table:
        """Merge the allowed facts; return the rows of `fact_rows`."""
        with self._connection.cursor() as cursor:
            evidence = cursor.sql("FROM said_of_fact").to_arrow_table()
            cursor.register("fact_evidence", evidence)  # in place of those of all documents
            cursor.register("merged_facts", merge_fact_evidence(evidence))
            return fact_rows(cursor)


def _visible(
    connection: duckdb.DuckDBPyConnection, written: Sequence[WrittenRecord], settings: MergingSettings
) -> tuple[WrittenText, ...]:
    """Return the texts of people that the allowed documents may show."""
    rows = [
        {"number": number, "column_name": one.column, "text": one.text, "sources": one.sources}
        for number, one in enumerate(written)
    ]
    connection.register("written_text", pa.Table.from_pylist(rows, _WRITTEN_TEXT))
    mapped = {"given": list(settings.types.map), "type": list(settings.types.map.values())}
    connection.register("mapped_type", pa.table(mapped, _MAPPED_TYPE))
    numbers = sorted(number for (number,) in connection.execute(read_sql(__package__, "visible_texts")).fetchall())
    return tuple(
        WrittenText(one.id, one.column, one.text, tuple(one.sources)) for one in map(written.__getitem__, numbers)
    )
