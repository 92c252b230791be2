"""The merge: every source's mentions into one row an entity and one row a relation.

Set-based SQL over the accepted Parquet files. It starts from mentions, never from merged text, so the result does not
depend on the order in which documents came, changed or went.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from lightrag_dagster import identity
from lightrag_dagster.llm.protocol import ChatModel
from lightrag_dagster.merging.summaries import CountTokens, Group, summarise
from lightrag_dagster.prompts import Prompts
from lightrag_dagster.schemas import (
    CHUNKS,
    ENTITIES,
    ENTITY_EVIDENCE,
    ENTITY_MENTIONS,
    RELATION_EVIDENCE,
    RELATION_MENTIONS,
    RELATIONS,
    SORT_KEYS,
)
from lightrag_dagster.settings import MergingSettings

MEMORY_LIMIT = "2GB"
"""DuckDB spills to disk above this."""


@dataclass(frozen=True)
class MergeInput:
    """The accepted Parquet files of one source."""

    source: str
    chunks: Path
    entity_mentions: Path
    relation_mentions: Path


class Merged(NamedTuple):
    """The merged tables, with the schemas of the same names."""

    entities: pa.Table
    relations: pa.Table
    entity_evidence: pa.Table
    relation_evidence: pa.Table


async def merge(
    inputs: Sequence[MergeInput],
    *,
    extraction_fingerprint: str,
    embedder_identity: str,
    model: ChatModel,
    prompts: Prompts,
    settings: MergingSettings,
    count_tokens: CountTokens,
    max_concurrency: int,
) -> Merged:
    """Merge the mentions of all sources.

    Args:
        inputs: Accepted files, in any order.
        extraction_fingerprint: Of the current prompts, model and parameters: decides which extraction of a chunk counts
            when there are several.
        embedder_identity: Part of every embedding fingerprint.
        model: Summarises descriptions that are too many or too long.
        prompts: The summary prompt.
        settings: When to summarise.
        count_tokens: Tokens of each text.
        max_concurrency: Summaries in flight.

    Raises:
        ProviderAccessError: the model cannot be used at all; a summary that fails alone leaves joined descriptions.
    """
    with duckdb.connect(config={"memory_limit": MEMORY_LIMIT}) as connection:
        _load(connection, inputs)
        _name_entities(connection)
        _run(connection, "collect_mentions", extraction_fingerprint=extraction_fingerprint)
        _run(connection, "group_entities")
        _run(connection, "group_relations")
        groups = _groups(connection, settings)
        summaries = await summarise(groups, model, prompts, settings, count_tokens, max_concurrency)
        connection.register(
            "summary",
            pa.table(
                {
                    "id": list(summaries),
                    "summary": list(summaries.values()),
                    "failed": [None if summary else "failed" for summary in summaries.values()],
                },
                _SUMMARY,
            ),
        )
        basis = identity.digest(prompts.fingerprint("summary"), model.identity, settings.model_dump())
        parameters = {"embedder_identity": embedder_identity, "text_basis": basis}
        return Merged(
            entities=_fetch(connection, _statement("finish_entities"), parameters, ENTITIES),
            relations=_fetch(connection, _statement("finish_relations"), parameters, RELATIONS),
            entity_evidence=_evidence(connection, "entity_evidence", ENTITY_EVIDENCE),
            relation_evidence=_evidence(connection, "relation_evidence", RELATION_EVIDENCE),
        )


_SUMMARY = pa.schema([(name, pa.string()) for name in ("id", "summary", "failed")])


def _load(connection: duckdb.DuckDBPyConnection, inputs: Sequence[MergeInput]) -> None:
    for view, schema, paths in (
        ("chunk", CHUNKS, [one.chunks for one in inputs]),
        ("entity_mention", ENTITY_MENTIONS, [one.entity_mentions for one in inputs]),
        ("relation_mention", RELATION_MENTIONS, [one.relation_mentions for one in inputs]),
    ):
        if paths:
            connection.read_parquet([str(path) for path in paths]).create_view(view)
        else:
            connection.register(view, schema.empty_table())


def _name_entities(connection: duckdb.DuckDBPyConnection) -> None:
    """Give every distinct name its entity id; the rule is Python's, so it is applied once a name, not a mention."""
    names = connection.sql(
        "SELECT DISTINCT name FROM (SELECT name FROM entity_mention UNION SELECT src FROM relation_mention "
        "UNION SELECT tgt FROM relation_mention) ORDER BY name"
    ).to_arrow_table()["name"]
    ids = [identity.entity_id(name) for name in names.to_pylist()]
    connection.register("entity_name", pa.table({"name": names, "entity_id": pa.array(ids, pa.string())}))


def _groups(connection: duckdb.DuckDBPyConnection, settings: MergingSettings) -> list[Group]:
    """Return the groups whose descriptions may be long enough for a summary; a token is at least a byte."""
    rows = connection.execute(
        _statement("select_long_groups"),
        {"descriptions": settings.summary_min_descriptions, "tokens": settings.summary_min_tokens},
    ).fetchall()
    return [Group(*row) for row in rows]


def _evidence(connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema) -> pa.Table:
    columns, keys = ", ".join(schema.names), ", ".join(SORT_KEYS[table])
    return _fetch(connection, f"SELECT {columns} FROM {table} ORDER BY {keys}", {}, schema)


def _fetch(
    connection: duckdb.DuckDBPyConnection, statement: str, parameters: dict[str, str], schema: pa.Schema
) -> pa.Table:
    rows = connection.sql(statement, params=parameters or None).to_arrow_table()
    return rows.select(schema.names).cast(schema)


def _run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: str) -> None:
    for statement in duckdb.extract_statements(_statement(name)):
        wanted = {key: value for key, value in parameters.items() if key in statement.named_parameters}
        connection.execute(statement, wanted or None)


def _statement(name: str) -> str:
    return resources.files(__package__).joinpath(f"sql/{name}.sql").read_text(encoding="utf-8")
