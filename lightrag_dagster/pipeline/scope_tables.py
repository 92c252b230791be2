"""The tables of a scope: the rows of those above it that its rule shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest, extraction_key
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import StoreError
from lightrag_dagster.fact_schemas import split_pass
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import ScopeRule, Settings
from lightrag_dagster.stages.documents.duplicates import mark_duplicates, originals_of, without_marks
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.records import write_record
from lightrag_dagster.storage.tables.acceptance import accepted, accepted_sources, remove_gone_sources
from lightrag_dagster.storage.tables.shards import shards
from lightrag_dagster.storage.tables.source_tables import MoreOfVersion, SourceTables
from lightrag_dagster.storage.versions import Accepted

UNLABELLED = "without_access"
"""The sum of a table of documents that counts those without a value of `access`, where the rule asks for it."""

GRAPHRAG = "graphrag"
"""The recipe of answers that GraphRAG gave: each has descriptions, types and weights made of other texts too."""

Versions = Mapping[str, Mapping[str, str]]
"""Source → table → version."""

_MADE_FROM = "published"

_COSTS = {"input_tokens", "cached_input_tokens", "output_tokens", "cost_usd"}
"""Columns that a scope has as zeros."""

_NONE = pa.array([], pa.string())


class Shown(NamedTuple):
    """Ids of the documents of a source that a scope shows and of their chunks, and the originals among them.

    `originals` has `doc_id` and `original` of each document whose text another one has too. `unlabelled` is the number
    of documents with text that have no value of `access`, where that is asked for. `mixed` are the keys of answers that
    are of other texts too: these are left out, and the row of the chunk stays, so that it counts as read.
    """

    documents: pa.Array
    originals: pa.Table
    unlabelled: int
    chunks: pa.Array = _NONE
    mixed: pa.Array = _NONE

    def rows(self, table: str, rows: pa.Table) -> pa.Table:
        """Return the rows of a table that are allowed; which documents are duplicates is judged among these alone."""
        if table == "raw_documents":
            found = mark_duplicates(without_marks(_among(rows, "doc_id", self.documents)), self.originals)
            return _with(found, "access", pa.nulls(len(found), found["access"].type))  # which names other readers
        key = ("doc_id", self.documents) if table == "chunks" else ("chunk_id", self.chunks)
        found = _among(rows, *key)
        if table in ("extractions", "entity_mentions", "relation_mentions", "parsed"):
            is_mixed = pc.is_in(found["extraction_key"], value_set=self.mixed)
            if table != "extractions":
                return found.filter(pc.invert(is_mixed))
            for name, nothing in (("responses", []), ("rounds", 0)):
                column = found[name]
                found = _with(found, name, pc.if_else(is_mixed, pa.scalar(nothing, column.type), column))
        for name in _COSTS.intersection(found.schema.names):
            found = _with(found, name, pc.multiply(found[name], 0))
        return found


def allowed(documents: Sequence[Path], rule: ScopeRule, *also: Sequence[Path]) -> Shown:
    """Return what a rule shows of documents of a source that it allows, in some files; their chunks are to be added.

    Those are left out that it does not allow in `also`, each the files of another version of them.
    """
    values = {name: list(rule[name]) if name in rule else None for name in ("paths", "tags", "access")}
    with in_memory() as connection:
        view_files(connection, "documents", documents, RAW_DOCUMENTS)
        found = connection.sql(read_sql(__package__, "sql/allowed"), params=values).to_arrow_table()
    shown = found.filter(found["passes"])
    for others in also:
        shown = _among(shown, "doc_id", allowed(others, rule).documents)
    unlabelled = pc.sum(found["without"], min_count=0).as_py() if "access" in rule else 0
    return Shown(shown["doc_id"].combine_chunks(), originals_of(shown), unlabelled)


def _among(rows: pa.Table, column: str, ids: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows[column], value_set=ids))


def _with(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values)


def fill(settings: Settings, above: Home, sources: Versions) -> None:
    """Give the scope of some settings the rows of each source that it shows; what it was given before stays.

    `sources` are versions of tables in the home `above` it. Raises StoreError.
    """
    home, due = Home.of(settings), to_fill(settings, above, sources)
    remove_gone_sources(home, accepted_sources(home).difference(due))
    for source, given in due.items():
        if made_from(home, source) != given:
            filling = _Filling(SourceTables(above), SourceTables(home), source, given)
            filling.all(sources[source], settings.scopes[home.scope])


def to_fill(settings: Settings, above: Home, sources: Versions) -> dict[str, str]:
    """Return the sources that a scope may show, each with a hash of what it is given; takes and raises as `fill`."""
    rule = settings.scopes[settings.scope]
    made_by = digest(read_sql(__package__, "sql/allowed"), GRAPHRAG)
    values = {name: sorted(values) for name, values in rule.items()}
    return {
        source: digest(made_by, versions, values, *_todays(above, source, versions, rule))
        for source, versions in sources.items()
        if source != CURATION and composed(source) in rule.get("sources", (composed(source),))
    }


def _todays(above: Home, source: str, versions: Mapping[str, str], rule: ScopeRule) -> list[str]:
    """Return the version of the documents by which `access` is asked for too: today's, while another is published.

    So no rollback shows again what lost its value since. A source that is gone has an empty one.
    """
    record = accepted(above, source) if "access" in rule else None
    today = record.tables["raw_documents"] if record else ""
    return [today] if "access" in rule and today != versions["raw_documents"] else []


def made_from(home: Home, source: str) -> str | None:
    """Return the hash of what a source was filled from; None if that did not end, or a record or file is damaged."""
    tables = SourceTables(home)
    try:
        current = tables.current("raw_documents", source)
        record = accepted(home, source)
        versions = record.merged(record.passes) if record else {}
        whole = all(_is_current(tables, source, *one) for one in versions.items())
    except StoreError:
        return None
    ended = current is not None and (current.rows == 0 or record is not None)
    return current.inputs.get(_MADE_FROM) if current and ended and whole else None


def _is_current(tables: SourceTables, source: str, table: str, version: str) -> bool:
    """Say whether a version is the current one of a table, with all its files."""
    current = tables.current(table, source)
    return current is not None and current.version == version and not tables.has_lost(current)


@dataclass(frozen=True)
class _Filling:
    """The filling of a source of a scope, from its tables above; `made_from` is the hash of what is given."""

    above: SourceTables
    tables: SourceTables
    source: str
    made_from: str

    def all(self, versions: Mapping[str, str], rule: ScopeRule) -> None:
        """Store the allowed rows of all tables, and accept them if there is a document; that ends it."""
        home, source = self.tables.home, self.source
        used = [versions["raw_documents"], *_todays(self.above.home, source, versions, rule)]
        documents, *also = (self.above.open("raw_documents", source, one) if one else [] for one in used)
        shown = allowed(documents, rule, *also)
        with ingesting(home, source, STEP_SECONDS):
            home.accepted(source).unlink(missing_ok=True)
            chunks = self._copy("chunks", versions["chunks"], shown)
            mixed = pa.array([extraction_key(one, GRAPHRAG) for one in chunks.to_pylist()], pa.string())
            shown = shown._replace(chunks=chunks, mixed=mixed)
            for table in (*sorted(versions.keys() - {"raw_documents", "chunks"}), "raw_documents"):
                self._copy(table, versions[table], shown)
            stored = {table: self.tables.require(table, source).version for table in versions}
            if len(shown.documents):
                write_record(home.accepted(source), _record(source, stored))

    def _copy(self, table: str, version: str, shown: Shown) -> pa.Array:
        """Store the allowed rows of one version of a table, shard by shard; return the ids of the chunks in them."""
        chunks, stored = [_NONE], []
        for shard in shards(self.above.home.files.count_rows(self.above.open(table, self.source, version))):
            rows = shown.rows(table, self.above.read_shard(table, self.source, version, shard))
            stored.append(self.tables.store(table, self.source, rows))
            if table == "chunks":
                chunks.append(rows["chunk_id"].unique())
        made_from = {_MADE_FROM: self.made_from}
        more = MoreOfVersion(new_sums={UNLABELLED: shown.unlabelled}) if table == "raw_documents" else MoreOfVersion()
        self.tables.record(table, self.source, stored, inputs=made_from, recipe="scope", **more)
        return pa.concat_arrays(chunks)


def _record(source: str, versions: Mapping[str, str]) -> Accepted:
    tables, passes = dict[str, str](), dict[str, dict[str, str]]()
    for table, version in sorted(versions.items()):
        kind, name = split_pass(table)
        (passes.setdefault(name, {}) if name else tables)[kind] = version
    return Accepted(source=source, tables=tables, passes=passes)
