"""The merge: every source's mentions into one row an entity and one row a relation.

    with open_merge(inputs, settings, embedder_identity, scratch, previous) as merge:
        summaries = await summarise(merge.to_summarise(count_tokens), model, …)
        merged = merge.finish(summaries, recipe)

Set-based SQL over the accepted Parquet files. It starts from mentions, never from merged text, so the result does not
depend on the order in which documents came, changed or were deleted. An earlier merge gives the rows that no change
affects, and the summaries of descriptions that are still the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, EXTRACTIONS, MERGED_TABLES, RELATION_MENTIONS
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.incremental import add_affected_evidence, concat_unaffected, few_changed
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.stages.merging.summaries import CountTokens, Group, needs_summary

_SUMMARIES = pa.schema([(name, pa.string()) for name in ("id", "summary", "failed", "recipe")])


class Merged(NamedTuple):
    """The merged tables, with the schemas of the same names, rows in no order."""

    entities: pa.Table
    relations: pa.Table
    entity_evidence: pa.Table
    relation_evidence: pa.Table
    changed_chunks: int | None
    """How many chunks decided which groups were merged; None when all were."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The four tables by name."""
        return {name: getattr(self, name) for name in MERGED_TABLES}


class Merge:
    """Grouped mentions, to be finished with summaries of the long groups."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        settings: MergingSettings,
        evidence: dict[str, pa.Table],
        before: dict[str, pa.Table] | None,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._evidence = evidence
        self._before = before
        self._kept: set[str] = set()

    def to_summarise(self, count_tokens: CountTokens) -> list[Group]:
        """Return the groups over a threshold that have no summary yet, in order of kind and id."""
        rows = self._connection.execute("FROM long_group ORDER BY kind, id").fetchall()
        groups = [group for group in (Group(*row) for row in rows) if self._is_long(group, count_tokens)]
        with_summary = {one for (one,) in self._connection.execute("SELECT id FROM kept_summary").fetchall()}
        self._kept = with_summary & {group.id for group in groups}
        return [group for group in groups if group.id not in self._kept]

    def finish(self, summaries: Mapping[str, str | None], recipe: str) -> Merged:
        """Return the merged tables.

        Args:
            summaries: id → summary of each group of `to_summarise`; None where it failed, which leaves joined
                descriptions.
            recipe: Prompt, model and parameters of these summaries.
        """
        self._add_summaries(summaries, recipe)
        tables = {
            name: database.fetch(self._connection, database.read_statement(f"finish_{name}"), MERGED_TABLES[name])
            for name in ("entities", "relations")
        } | self._evidence
        if self._before is None:
            return Merged(**tables, changed_chunks=None)
        changed = database.count(self._connection, "SELECT count(*) FROM changed_chunk")
        return Merged(**concat_unaffected(self._connection, self._before, tables), changed_chunks=changed)

    def _is_long(self, group: Group, count_tokens: CountTokens) -> bool:
        return needs_summary(group.descriptions, self._settings, count_tokens)

    def _add_summaries(self, summaries: Mapping[str, str | None], recipe: str) -> None:
        columns = {
            "id": list(summaries),
            "summary": list(summaries.values()),
            "failed": [None if summary else "failed" for summary in summaries.values()],
            "recipe": [recipe if summary else None for summary in summaries.values()],
        }
        self._connection.register("made", pa.table(columns, _SUMMARIES))
        self._connection.register("kept", pa.table({"id": pa.array(sorted(self._kept), pa.string())}))
        self._connection.execute("INSERT INTO summary FROM made")
        self._connection.execute(
            "INSERT INTO summary SELECT id, summary, NULL, recipe FROM kept_summary SEMI JOIN kept USING (id)"
        )


@contextmanager
def open_merge(
    inputs: Sequence[MergeInput],
    settings: MergingSettings,
    embedder_identity: str,
    scratch: Path,
    previous: Previous | None = None,
) -> Iterator[Merge]:
    """Group the mentions of all sources; the merge can be finished inside the block.

    Args:
        inputs: Accepted files, in any order.
        settings: Thresholds and limits.
        embedder_identity: Part of every embedding fingerprint.
        scratch: Folder for data that does not fit into memory.
        previous: An earlier merge. Apart from the summaries that are kept, the result is the same without it.

    Raises:
        StoreError: a file is missing or damaged, also one of `previous`, or the disk is full.
    """
    variables = database.rule_variables(settings, embedder_identity)
    if previous is not None and previous.recipe is not None:
        variables["recipe"] = previous.recipe
    paths = [path for one in (*inputs, *(previous.inputs if previous else ())) for path in one.paths]
    paths += previous.tables.values() if previous else ()
    with database.open_database(scratch, variables) as connection, database.readable(paths):
        incremental = _collect(connection, inputs, previous)
        evidence = {
            name: database.fetch(connection, f"FROM {name}", MERGED_TABLES[name])
            for name in ("entity_evidence", "relation_evidence")
        }
        before = add_affected_evidence(connection, previous) if previous and incremental else None
        if before is None:
            for table in ("entities", "relations"):
                made = [previous.tables[table]] if previous else []
                database.view_files(connection, f"{table}_before", MERGED_TABLES[table], made)
        _group(connection, incremental=incremental)
        yield Merge(connection, settings, evidence, before)


def _collect(connection: duckdb.DuckDBPyConnection, inputs: Sequence[MergeInput], previous: Previous | None) -> bool:
    """Make the tables of evidence; return True when they hold that of changed chunks alone."""
    database.view_files(connection, "chunk", CHUNKS, [one.chunks for one in inputs])
    database.view_files(connection, "extraction", EXTRACTIONS, [one.extractions for one in inputs])
    incremental = previous is not None and previous.comparable and few_changed(connection, inputs, previous)
    for view, schema, paths in (
        ("entity_mention", ENTITY_MENTIONS, [one.entity_mentions for one in inputs]),
        ("relation_mention", RELATION_MENTIONS, [one.relation_mentions for one in inputs]),
    ):
        if incremental:
            database.view_files(connection, f"every_{view}", schema, paths)
            rows = f"FROM every_{view} SEMI JOIN changed_chunk USING (chunk_id)"
            connection.execute(f"CREATE TEMP TABLE {view} AS {rows}")
        else:
            database.view_files(connection, view, schema, paths)
    database.run(connection, "positions")
    database.run(connection, "choose_extractions")
    collect_mentions(connection)
    return incremental


def collect_mentions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of evidence from `entity_mention`, `relation_mention`, `chosen_extraction` and `position`."""
    database.name_entities(
        connection,
        "SELECT name FROM entity_mention UNION SELECT src FROM relation_mention UNION SELECT tgt FROM relation_mention",
    )
    database.run(connection, "collect_mentions")


def group_evidence(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables from which rows are finished, apart from provenance and degree."""
    database.run(connection, "group_entities")
    database.run(connection, "group_relations")
    connection.execute("CREATE TEMP TABLE summary (id VARCHAR, summary VARCHAR, failed VARCHAR, recipe VARCHAR)")
    for name in ("describe_entities", "describe_relations"):
        database.run(connection, name)


def _group(connection: duckdb.DuckDBPyConnection, *, incremental: bool) -> None:
    group_evidence(connection)
    if incremental:
        database.run(connection, "copy_unaffected")
    database.run(connection, "provenance_and_degree")
    database.run(connection, "select_long_groups")
