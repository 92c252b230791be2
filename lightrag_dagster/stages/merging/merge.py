"""The merge: every source's mentions into one row an entity and one row a relation.

Set-based SQL over the accepted Parquet files. It starts from mentions, never from merged text, so the result does not
depend on the order in which documents came, changed or went. Nor does it depend on the last merge, from which it takes
over what nothing touched since.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster.core.protocols import ChatModel
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import CHUNKS, ENTITY_MENTIONS, MERGED_TABLES, RELATION_MENTIONS
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.merging import database
from lightrag_dagster.stages.merging.incremental import few_changed, recall_evidence, with_the_rest
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.stages.merging.summaries import CountTokens, Group, summarise
from lightrag_dagster.stages.prompts import Prompts

_log = logging.getLogger(__name__)


class Merged(NamedTuple):
    """The merged tables, with the schemas of the same names, rows in no order."""

    entities: pa.Table
    relations: pa.Table
    entity_evidence: pa.Table
    relation_evidence: pa.Table
    changed_chunks: int | None
    """How many chunks decided what was merged anew; None when everything was."""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The four tables by name."""
        return {name: getattr(self, name) for name in MERGED_TABLES}


async def merge(
    inputs: Sequence[MergeInput],
    *,
    scratch: Path,
    extraction_fingerprint: str,
    embedder_identity: str,
    model: ChatModel,
    prompts: Prompts,
    settings: MergingSettings,
    count_tokens: CountTokens,
    max_concurrency: int,
    previous: Previous | None = None,
) -> Merged:
    """Merge the mentions of all sources.

    Args:
        inputs: Accepted files, in any order.
        scratch: Folder for what does not fit into memory.
        extraction_fingerprint: Of the current prompts, model and parameters: decides which extraction of a chunk counts
            when there are several.
        embedder_identity: Part of every embedding fingerprint.
        model: Summarises descriptions that are too many or too long.
        prompts: The summary prompt.
        settings: When to summarise.
        count_tokens: Tokens of each text.
        max_concurrency: Summaries in flight.
        previous: An earlier merge; what nothing touched since is taken over from it. Where it was made with the same
            arguments, the result is the same without it.

    Raises:
        ProviderAccessError: the model cannot be used at all; a summary that fails alone leaves joined descriptions.
        StoreError: a file is damaged, one of `previous` only where that is needed; or the disk is full.
    """
    variables: dict[str, str | int] = {
        "summary_descriptions": settings.summary_min_descriptions,
        "summary_tokens": settings.summary_min_tokens,
        "embedder": embedder_identity,
        "entity_chunks": settings.max_chunks_per_entity,
        "relation_chunks": settings.max_chunks_per_relation,
        "chunk_order": 1 if settings.chunk_limit_method == "KEEP" else -1,
    }

    async def merged(previous: Previous | None) -> Merged:
        with database.open_database(scratch, variables) as connection, database.readable(_paths(inputs, previous)):
            followed = _collect(connection, inputs, previous, extraction_fingerprint)
            evidence = {
                name: database.fetch(connection, f"FROM {name}", MERGED_TABLES[name])
                for name in ("entity_evidence", "relation_evidence")
            }
            before = recall_evidence(connection, followed) if followed else {}
            _group(connection, followed, previous)
            groups = [Group(*row) for row in connection.execute("FROM long_group ORDER BY kind, id").fetchall()]
            summaries = await summarise(groups, model, prompts, settings, count_tokens, max_concurrency)
            _add_summaries(connection, summaries)
            tables = {
                name: database.fetch(connection, database.read_statement(f"finish_{name}"), MERGED_TABLES[name])
                for name in ("entities", "relations")
            } | evidence
            if followed is None:
                return Merged(**tables, changed_chunks=None)
            changed = database.count(connection, "SELECT count(*) FROM changed_chunk")
            return Merged(**with_the_rest(connection, before, tables), changed_chunks=changed)

    if previous is not None:
        try:
            return await merged(previous)
        except StoreError as error:
            if previous.needed:
                raise StoreError(f"{error}; `lightrag-dagster backfill --knowledge-base` merges without it") from error
            _log.warning("what the last merge left cannot be used, everything is merged: %s", error)
    return await merged(None)


def _paths(inputs: Sequence[MergeInput], previous: Previous | None) -> list[Path]:
    own = [path for one in inputs for path in one.paths]
    if previous is None:
        return own
    return own + [path for one in previous.inputs for path in one.paths] + list(previous.tables.values())


def _collect(
    connection: duckdb.DuckDBPyConnection,
    inputs: Sequence[MergeInput],
    previous: Previous | None,
    extraction_fingerprint: str,
) -> Previous | None:
    """Make the tables of evidence: of changed chunks alone, if the earlier merge can be followed; return it then."""
    database.view_files(connection, "chunk", CHUNKS, [one.chunks for one in inputs])
    if previous is not None and not (previous.whole and few_changed(connection, inputs, previous)):
        previous = None
    for view, schema, paths in (
        ("entity_mention", ENTITY_MENTIONS, [one.entity_mentions for one in inputs]),
        ("relation_mention", RELATION_MENTIONS, [one.relation_mentions for one in inputs]),
    ):
        database.view_files(connection, f"every_{view}", schema, paths)
        if previous is None:
            connection.execute(f"CREATE VIEW {view} AS FROM every_{view}")
        else:
            connection.execute(f"CREATE TABLE {view} AS FROM every_{view} SEMI JOIN changed_chunk USING (chunk_id)")
    database.name_entities(
        connection,
        "SELECT name FROM entity_mention UNION SELECT src FROM relation_mention UNION SELECT tgt FROM relation_mention",
    )
    database.run(connection, "collect_mentions", extraction_fingerprint=extraction_fingerprint)
    return previous


def _group(connection: duckdb.DuckDBPyConnection, followed: Previous | None, previous: Previous | None) -> None:
    """Make the tables from which rows are finished, and `long_group`, which may need summaries."""
    if followed is None and previous is not None:
        for table in ("entities", "relations"):
            database.view_files(connection, f"{table}_before", MERGED_TABLES[table], [previous.tables[table]])
    database.run(connection, "group_entities")
    database.run(connection, "group_relations")
    if followed is not None:
        database.run(connection, "take_over")
    database.run(connection, "look_around")
    database.run(connection, "select_long_groups")
    connection.execute("CREATE TABLE summary (id VARCHAR, summary VARCHAR, failed VARCHAR)")
    if previous is not None:
        database.run(connection, "take_over_descriptions")


def _add_summaries(connection: duckdb.DuckDBPyConnection, summaries: dict[str, str | None]) -> None:
    rows = {
        "id": list(summaries),
        "summary": list(summaries.values()),
        "failed": [None if summary else "failed" for summary in summaries.values()],
    }
    connection.register("summarised", pa.table(rows, pa.schema([(name, pa.string()) for name in rows])))
    connection.execute("INSERT INTO summary FROM summarised")
