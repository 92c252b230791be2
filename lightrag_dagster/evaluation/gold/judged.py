"""Rows that were extracted from gold passages beside those that people say, as the merge would take both."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import entity_id, name_key, relation_id
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.names import folded, normalise_type
from lightrag_dagster.curation.rules import CURATION, Curation
from lightrag_dagster.evaluation.gold.rows import Gold, GoldRow
from lightrag_dagster.evaluation.sample import Tables, rows_of_documents
from lightrag_dagster.fact_schemas import PASS_TABLES, kind_of
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import CHUNKS, SOURCE_TABLES
from lightrag_dagster.settings.sections import TypeSettings
from lightrag_dagster.stages.facts.dates import read_date
from lightrag_dagster.stages.facts.values import read_number
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.tables.source_tables import SourceTables

if TYPE_CHECKING:
    import duckdb

NAME = "'text-' || left(sha256(content), 12)"
"""The name of a chunk in gold files, in SQL: by its text alone, and never like a number to a spreadsheet."""

_KEYED = pa.schema([(name, pa.string()) for name in ("chunk", "kind", "key", "shown", "type")])
_LABELLED = pa.schema([("chunk", pa.string()), ("kind", pa.string())])


class Passages(NamedTuple):
    """Gold passages that are chunks now: where each is, the rows of its chunk by source and table, and all lost ones.

    `located` has chunk (its name in gold files), source, chunk_id, doc_id, content and place: source/path.
    """

    located: pa.Table
    tables: Mapping[str, Tables]
    gone: list[str]

    def right(self, gold: Gold) -> list[GoldRow]:
        """Return the rows that these passages state."""
        there = set(self.located["chunk"].to_pylist())
        return [one for one in gold.rows if one.right and one.chunk in there]

    def unmeasured(self) -> list[str]:
        """Return a line if no passage is left, so that no score bounds anything."""
        if self.located.num_rows or not self.gone:
            return []
        return [
            f"none of the {len(self.gone):,} gold passages that are done is a chunk of this home, so that nothing was "
            "measured; see that it is the right home, or draft others with `lightrag-dagster gold draft FILE`"
        ]


def find_passages(situation: Situation, gold: Gold, snapshot: Manifest | None = None) -> Passages:
    """Find the chunks that gold passages name, with their rows; raises StoreError.

    They are those of the accepted tables, or of the tables that a `snapshot` was built from.
    """
    tables = SourceTables(situation.home)
    versions = {one: situation.merged(one) for one in situation.accepted}
    if snapshot:
        versions = {source: used for source, used in snapshot.inputs.sources.items() if source != CURATION}
    paths = [path for source, used in versions.items() for path in tables.open("chunks", source, used["chunks"])]
    with in_memory() as connection:
        name_chunks(connection)
        view_files(connection, "every_chunk", paths, CHUNKS)
        connection.register("wanted", pa.table({"chunk": pa.array(gold.passages, pa.string())}))
        located = connection.sql(read_sql(__package__, "sql/located")).to_arrow_table()
        found = rows_of(connection, tables, versions, located)
    return Passages(located, found, sorted(gold.passages.keys() - set(located["chunk"].to_pylist())))


def rows_of(
    connection: "duckdb.DuckDBPyConnection",
    tables: SourceTables,
    versions: Mapping[str, dict[str, str]],
    located: pa.Table,
) -> dict[str, Tables]:
    """Return, by source and table, the rows of the documents of located chunks, and of these chunks alone."""
    found = dict[str, Tables]()
    for source in pc.unique(located["source"]).to_pylist():
        of_source = located.filter(pc.equal(located["source"], source))
        ids = of_source["chunk_id"].combine_chunks()
        rows = rows_of_documents(connection, tables, source, versions[source], of_source["doc_id"].unique())
        found[source] = rows | {
            name: one.filter(pc.is_in(one["chunk_id"], ids))
            for name, one in rows.items()
            if "chunk_id" in one.column_names
        }
    return found


def name_chunks(connection: "duckdb.DuckDBPyConnection") -> None:
    """Create the macro that names a chunk in gold files."""
    connection.execute(f"CREATE OR REPLACE TEMP MACRO gold_name(content) AS {NAME}")


def extracted(connection: "duckdb.DuckDBPyConnection", located: pa.Table, tables: Iterable[Tables]) -> pa.Table:
    """Return what was extracted from passages, in the columns of a gold file; the connection then sees the tables."""
    every = [(kind_of(name), rows) for of_source in tables for name, rows in of_source.items()]
    for kind, schema in (SOURCE_TABLES | PASS_TABLES).items():
        rows = [schema.empty_table(), *(rows for name, rows in every if name == kind)]
        connection.register(kind, pa.concat_tables(rows))
    connection.register("located", located)
    return connection.sql(read_sql(__package__, "sql/extracted")).to_arrow_table()


def judge(gold: Gold, located: pa.Table, tables: Iterable[Tables], curation: Curation, types: TypeSettings) -> pa.Table:
    """Return every row that people or extraction say of a passage, and its outcome: right, wrong or missed.

    Names are one if the merge makes them one: by spelling, or by decisions. Types are of names that both have, where
    people gave one, and relations have no direction. Columns: chunk, kind (entity, type, relation, fact), place, shown,
    type, outcome, source, recipe, model. A passage of whose labelled kind neither says anything has a row without
    outcome.
    """
    right = [one._asdict() for one in gold.rows if one.right]
    typed = {one["chunk"] for one in right if one["type"]}
    kinds = [(chunk, kind) for chunk, of_chunk in gold.passages.items() for kind in of_chunk]
    labelled = [{"chunk": chunk, "kind": kind} for chunk, kind in [*kinds, *((chunk, "type") for chunk in typed)]]
    with in_memory() as connection:
        for name, rows in (("gold", right), ("found", extracted(connection, located, tables).to_pylist())):
            said = (one for row in rows for one in _keyed(row, curation, types))
            distinct = {(one["chunk"], one["kind"], one["key"]): one for one in said}
            connection.register(name, pa.Table.from_pylist([*distinct.values()], _KEYED))
        connection.register("labelled", pa.Table.from_pylist(labelled, _LABELLED))
        return connection.sql(read_sql(__package__, "sql/judged")).to_arrow_table()


def _keyed(row: Mapping[str, Any], curation: Curation, types: TypeSettings) -> Iterator[dict[str, str]]:
    """Yield what a row says, under keys that are equal where the merge sees no difference."""
    name, other, kind = row["name"], row["other"], row["kind"]
    ends = [curation.joined.get(one, one) for one in map(entity_id, filter(None, (name, other)))]
    read = normalise_type(row["type"])
    mapped = types.map.get(read, read)
    given = mapped if not mapped or not types.allowed or mapped in types.allowed else "other"
    common = {"chunk": row["chunk"], "kind": kind, "type": given}
    if kind == "entity":
        yield common | {"key": ends[0], "shown": name}
        if row["type"]:
            yield common | {"kind": "type", "key": f"{ends[0]} {given}", "shown": f"{name}: {given}"}
    elif kind == "relation":
        yield common | {"key": relation_id(*ends), "shown": f"{name} — {other}"}
    else:
        number, day = read_number(row["value"]), read_date(row["value"])
        value = f"{number[0]} {number[1]}" if number else day[0].isoformat() if day else name_key(row["value"])
        said = " — ".join(filter(None, (name, row["relation"], other, row["value"])))
        yield common | {"key": " ".join((*ends, folded(row["relation"]), value)), "shown": said}
