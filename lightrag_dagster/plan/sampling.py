"""Questions about the chunks of a large source: counted in SQL, and asked of a model without answers for a sample."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.pipeline.cross_shard import open_sql, sql
from lightrag_dagster.pipeline.extractions import (
    PLACES,
    answering,
    retryable_kinds,
    todays_extractor,
    view_known,
)
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, ingestion
from lightrag_dagster.plan.dry_run import DryRunModel
from lightrag_dagster.plan.questions import Questions
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.stages.extraction.extractions import extract
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.tables.source_tables import SourceTables

# Ids are hashes, so that the first are a random sample.
_SAMPLED = "SELECT chunk_id FROM to_ask ORDER BY chunk_id LIMIT $sample"
_PLACES = f"FROM chunk LEFT JOIN spoken USING (chunk_id) WHERE chunk_id IN ({_SAMPLED})"
_FAILED = "SELECT chunk_id FROM known GROUP BY chunk_id HAVING bool_and(status = 'failed')"
_COUNTED = f"""
    SELECT count(DISTINCT chunk_id), count(DISTINCT chunk_id) FILTER (chunk_id IN ({_FAILED})),
           (SELECT count(*) FROM to_ask),
           (SELECT count(*) FROM chunk ANTI JOIN known USING (chunk_id) SEMI JOIN elsewhere USING (chunk_id))
    FROM chunk"""


class Sampled(NamedTuple):
    """Chunks of a source, those among them whose kept row failed, and the estimated questions about the others.

    `looked_at` of the chunks without a kept row were rendered and counted.
    """

    chunks: int
    failed: int
    questions: Questions
    looked_at: int


def sampled_questions(
    source: str, tables: SourceTables, recipes: Recipes, model: DryRunModel, sample: int, elsewhere: Sequence[Path] = ()
) -> Sampled | None:
    """Estimate the questions about the current chunks of a source from at most `sample` of those without a kept row.

    `elsewhere` are the chunks of sources that were sampled before, by the same recipe: a question is asked once.

    Returns:
        None if the chunks are to be gone through instead: they are few enough, or the whole sample is answered by the
        store, and only all of them can show that nothing is left to pay; or their questions cannot be told by SQL.
    """
    recipes = recipes.of_source(source)
    if recipes.name_finder or recipes.settings.retries_failed:
        return None
    step = IngestionStep.of(source, tables, recipes)
    with ingestion(tables, source) as scratch:
        found = _places(step, sample, scratch, elsewhere)
    if found.left <= sample and not found.shared:
        return None
    first, later = len(model.first), len(model.later)
    conversations = recipes.settings.llm.of("extract").conversations
    run_sync(extract(source, found.sample, todays_extractor(model, recipes, conversations)))
    asked = model.first[first:], model.later[later:]
    if any(asked) or found.left <= sample:
        looked_at = min(sample, found.left)
        return Sampled(found.chunks, found.failed, Questions.sampled(*asked, looked_at, found.left), looked_at)
    return sampled_questions(source, tables, recipes, model, found.left, elsewhere) if found.shared else None


class _Places(NamedTuple):
    """The number of chunks, of those that failed for good, of those left to ask, and the places of a sample of these.

    `shared` says whether sources that were sampled before have some of them too.
    """

    chunks: int
    failed: int
    left: int
    shared: bool
    sample: pa.Table


def _places(step: IngestionStep, sample: int, scratch: Path, elsewhere: Sequence[Path]) -> _Places:
    chunks = step.tables.require("chunks", step.source)
    documents = step.tables.require("raw_documents", step.source) if step.recipes.follows_languages else None
    earlier = Reusable.of("extractions", step.source, step.tables, step.recipes.extractions)
    files = (
        step.open("chunks", chunks.version),
        step.open("raw_documents", documents.version) if documents else [],
        earlier.open(step, "extractions"),
    )
    with open_sql(scratch, chunks.shards) as connection:
        view_known(connection, files, answering(retryable_kinds(retry_failed=False), earlier.recipe))
        view_files(connection, "elsewhere", elsewhere, CHUNKS)
        connection.execute(sql("to_ask", __package__))
        total, failed, left, shared = connection.execute(_COUNTED).fetchall()[0]
        columns = ", ".join(PLACES.names)
        places = connection.sql(f"SELECT {columns} {_PLACES}", params={"sample": sample}).to_arrow_table().cast(PLACES)
    return _Places(total, failed, left, shared > 0, places)
