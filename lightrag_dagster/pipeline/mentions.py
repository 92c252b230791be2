"""The tables `entity_mentions`, `relation_mentions` and `parsed` of a source, and its acceptance."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.pipeline.cross_shard import RowsOf, open_sql, partition
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import (
    IngestionStep,
    Reusable,
    ShardResult,
    StageReport,
    each_shard,
    ingestion,
    record,
)
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS, PARSED_TABLES, SOURCE_TABLES
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.mentions import parse_extractions
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.tables.acceptance import Acceptance, Bounds, accept, accepted
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables, sum_columns
from lightrag_dagster.storage.versions import TableVersion

PARSED_COLUMNS = ["chunk_id", "extraction_key", "status", "responses"]
"""Columns of an extraction that decide its mentions."""

ANSWERED_COLUMNS = ["chunk_id", "extraction_key", "status", "rounds"]
"""Columns that tell the answers about a chunk from others; without the responses, which are long."""

PASSAGES = pa.schema([*map(CHUNKS.field, ("chunk_id", "content"))])


def parse_and_accept(source: str, tables: SourceTables, recipes: Recipes) -> tuple[list[StageReport], Acceptance]:
    """Parse the responses into the PARSED_TABLES of a source, and accept it if it may be merged.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    recipe = recipes.table_recipe("parsed", source)
    with ingestion(tables, source) as scratch:
        extractions = tables.require("extractions", source)
        parsed = _parsed_before(tables, source, recipe)
        step = IngestionStep.of(source, tables, recipes)
        parse = partial(_parse_shard, step, extractions.version, parsed, _answered_before(tables, source))
        made = parse_each(parse, step, extractions, parsed, scratch, "mentions")
        inputs = {"extractions": extractions.version}
        sums = {"parsed": sum((Counter(one.new_sums) for one in made), Counter())}
        reports = [
            record(step, name, made, at, inputs=inputs, recipe=recipe, new_sums=sums.get(name, {}))
            for at, name in enumerate(PARSED_TABLES)
        ]
        acceptance = accept(tables.home, source, Bounds.of(recipes.settings), candidate=tables.candidate)
    return reports, acceptance


def _parse_shard(
    step: IngestionStep, extractions: str, parsed: Reusable, answered: str | None, task: tuple[Shard, pa.Table]
) -> ShardResult:
    """Parse the responses of a shard, given the texts of its chunks, except those that were `parsed` before.

    `answered` is the accepted version.
    """
    shard, passages = task
    rows = step.read_shard("extractions", extractions, shard)
    kept, left = [SOURCE_TABLES[name].empty_table() for name in PARSED_TABLES], rows
    if parsed.versions:
        earlier = parsed.first(step, "extractions", shard, PARSED_COLUMNS)
        *kept, left = keep_mentions(rows, earlier, [parsed.first(step, name, shard) for name in PARSED_TABLES])
    read = parse_extractions(left, passages, Echoes.of(step.recipes.prompts))
    made = [pa.concat_tables(both) for both in zip(kept, read, strict=True)]
    with ThreadPoolExecutor(len(made)) as threads:  # of a bucket, each is a request
        stored = tuple(threads.map(step.store, PARSED_TABLES, made))
    counted = made[-1]
    if answered:
        earlier = step.read_shard("extractions", answered, shard, ANSWERED_COLUMNS)
        counted = of_new_answers(counted, rows, earlier)
    return ShardResult(stored, tuple(same.num_rows for same in kept), new_sums=sum_columns(counted))


def parse_each(
    parse: Callable[[tuple[Shard, pa.Table]], ShardResult],
    step: IngestionStep,
    answers: TableVersion,
    parsed: Reusable,
    scratch: Path,
    stage: str,
) -> list[ShardResult]:
    """Parse the answers of each shard, given the texts of its chunks; the function knows what was `parsed` before."""
    parts = [Shard(number, answers.shards) for number in range(answers.shards)]
    passages = _passages_of(step, answers, parsed, scratch)
    with open_engine(step.settings.engine) as engine:
        return each_shard(engine, parse, ((shard, passages(shard)) for shard in parts), (stage, parts, answers.rows))


def _passages_of(step: IngestionStep, answers: TableVersion, parsed: Reusable, scratch: Path) -> RowsOf:
    """Return a function that reads the texts of a shard's chunks, of several shards only where an answer is new."""
    chunks = answers.inputs["chunks"]
    if answers.shards == 1:
        return lambda _: step.tables.read("chunks", step.source, chunks, PASSAGES.names)
    with open_sql(scratch, answers.shards) as connection:
        view_files(connection, "chunk", step.open("chunks", chunks), CHUNKS)
        view_files(connection, "answer", step.open(answers.table, answers.version), EXTRACTIONS)
        view_files(connection, "earlier", parsed.open(step, "extractions") if parsed.versions else [], EXTRACTIONS)
        return partition(connection, read_sql(__package__, "sql/passages"), scratch / "passages", PASSAGES)


def _parsed_before(tables: SourceTables, source: str, recipe: str) -> Reusable:
    """Return the tables that were parsed by `recipe`, and the extractions they were parsed from.

    None are reused unless all current tables were parsed by it, from one version of the extractions that is
    still there. Raises StoreError when a record is damaged.
    """
    parsed = [one for name in PARSED_TABLES if (one := tables.current(name, source))]
    made_from = {(one.inputs["extractions"], one.recipe) for one in parsed}
    earlier = parsed[0].inputs["extractions"] if parsed else ""
    versions = [("extractions", earlier), *((one.table, one.version) for one in parsed)]
    kept_whole = len(parsed) == len(PARSED_TABLES) and made_from == {(earlier, recipe)}
    if not kept_whole or not all(tables.has(table, source, version) for table, version in versions):
        return Reusable({})
    return Reusable({table: (version,) for table, version in versions})


def _answered_before(tables: SourceTables, source: str) -> str | None:
    """Return the accepted version of a source's extractions, if it is still there; raises StoreError for a record."""
    record = accepted(tables.home, source)
    version = record.tables["extractions"] if record else None
    return version if version and tables.has("extractions", source, version) else None


def of_new_answers(parsed: pa.Table, extractions: pa.Table, earlier: pa.Table) -> pa.Table:
    """Return the rows of PARSED whose extractions are not among the earlier ones; of these, ANSWERED_COLUMNS."""
    columns = ANSWERED_COLUMNS
    new = extractions.select(columns).join(earlier.select(columns), columns, join_type="left anti")
    return parsed.filter(pc.is_in(parsed["chunk_id"], value_set=new["chunk_id"].combine_chunks()))


def keep_mentions(extractions: pa.Table, earlier: pa.Table, mentions: Sequence[pa.Table]) -> list[pa.Table]:
    """Divide extractions into those that were parsed as they are and those that are still to be parsed.

    Args:
        extractions: Rows of EXTRACTIONS now.
        earlier: Extractions that were parsed; the columns of the answers.
        mentions: The PARSED_TABLES that were made of it.

    Returns:
        These tables of the former, and EXTRACTIONS of the latter.
    """
    with in_memory() as connection:
        connection.register("now", extractions.select(PARSED_COLUMNS))
        connection.register("earlier", earlier.select(PARSED_COLUMNS))
        same = connection.sql(f"SELECT chunk_id FROM now SEMI JOIN earlier USING ({', '.join(PARSED_COLUMNS)})")
        chunks = same.to_arrow_table()["chunk_id"].combine_chunks()
    unchanged = [rows.filter(pc.is_in(rows["chunk_id"], value_set=chunks)) for rows in mentions]
    return [*unchanged, extractions.filter(pc.invert(pc.is_in(extractions["chunk_id"], value_set=chunks)))]
