"""The tables `facts` and `read_facts` of a source, made from the readings of each pass, and the acceptance of it.

Parsing costs no call, so all readings of a pass are parsed again whenever one of them, or its schema, changed.
"""

from functools import partial

import pyarrow as pa

from lightrag_dagster.fact_schemas import of_pass
from lightrag_dagster.pipeline.mentions import parse_each
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, ShardResult, StageReport, ingestion, record
from lightrag_dagster.stages.facts.facts import parse_readings
from lightrag_dagster.stages.facts.passes import Pass
from lightrag_dagster.storage.tables.acceptance import Acceptance, Bounds, accept
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables

_TABLES = ("facts", "read_facts")


def parse_pass(source: str, tables: SourceTables, recipes: Recipes, one: Pass) -> tuple[list[StageReport], Acceptance]:
    """Parse the readings of a pass into facts of a source, and accept them if they may be merged.

    Raises:
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    names = [of_pass(table, one.name) for table in _TABLES]
    recipe = recipes.facts(one)
    with ingestion(tables, source) as scratch:
        readings = tables.require(of_pass("readings", one.name), source)
        step = IngestionStep.of(source, tables, recipes)
        parse = partial(_parse_shard, step, one, readings.version)
        made = parse_each(parse, step, readings, Reusable({}), scratch, "facts")
        inputs = {readings.table: readings.version}
        reports = [record(step, name, made, at, inputs=inputs, recipe=recipe) for at, name in enumerate(names)]
        acceptance = accept(tables.home, source, Bounds.of(recipes.settings), one.name, candidate=tables.candidate)
    return reports, acceptance


def _parse_shard(step: IngestionStep, one: Pass, readings: str, task: tuple[Shard, pa.Table]) -> ShardResult:
    shard, passages = task
    rows = step.read_shard(of_pass("readings", one.name), readings, shard)
    made = zip(_TABLES, parse_readings(rows, passages, one, step.recipes.readings(one)), strict=True)
    return ShardResult(tuple(step.store(of_pass(name, one.name), found) for name, found in made), (0, 0))
