"""The merge of accepted sources: which files it reads, what it keeps of the last merge, and asking for summaries."""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.build.ingest import OpenModel
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.errors import StoreError
from lightrag_dagster.schemas import MERGED_TABLES
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.storage import generations
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import GenerationInputs
from lightrag_dagster.storage.tables import SourceTables

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.merge import Merged

BACKFILL = "`lightrag-dagster backfill --knowledge-base`"
"""The command that makes outdated summaries and vectors again."""

_log = logging.getLogger(__name__)


class Summarised(NamedTuple):
    """Merged tables, the calls for summaries, and how many of these failed."""

    merged: "Merged"
    usage: Usage
    failed: int


def merge_after(
    last: Generation | None, inputs: GenerationInputs, recipes: Recipes, open_model: OpenModel, *, backfill: bool
) -> Summarised:
    """Merge with the help of the last generation; without it where it is damaged and holds no outdated summary.

    Raises:
        ProviderAccessError: no summary can succeed until a person acts; what was answered is stored.
        StoreError: a file is damaged, or the disk is full.
    """
    home = Home(recipes.settings.home)
    files = merge_inputs(home, inputs)
    if last is not None:
        try:
            previous = find_previous(last, inputs, recipes.summaries if backfill else None)
            return run_sync(_merge(files, inputs, previous, recipes, open_model))
        except StoreError as error:
            if not backfill and has_outdated_summaries(last, recipes):
                raise StoreError(
                    f"{error}; the outdated summaries in it would be lost, {BACKFILL} makes them again"
                ) from error
            _log.warning("the last merge cannot be used, everything is merged: %s", error)
    return run_sync(_merge(files, inputs, None, recipes, open_model))


async def _merge(
    files: Sequence[MergeInput],
    inputs: GenerationInputs,
    previous: Previous | None,
    recipes: Recipes,
    open_model: OpenModel,
) -> Summarised:
    """Group, summarise and finish."""
    from lightrag_dagster.stages.merging.merge import open_merge
    from lightrag_dagster.stages.merging.summaries import summarise

    home, settings = Home(recipes.settings.home), inputs.merging
    counts = load_tokenizer(inputs.encoding).counts
    concurrency = recipes.settings.llm.of("summarise").max_concurrency
    with (
        generations.scratch_folder(home) as scratch,
        open_merge(files, settings, inputs.embedder.identity, scratch, previous) as merge,
    ):
        async with open_model() as model:
            groups = merge.to_summarise(counts)
            summaries = await summarise(groups, model, recipes.prompts, settings, counts, concurrency)
        merged = merge.finish(summaries, recipes.summaries)
    return Summarised(merged, model.usage, sum(summary is None for summary in summaries.values()))


def merge_inputs(home: Home, inputs: GenerationInputs) -> list[MergeInput]:
    """Return the files of every source, in order of source."""
    tables = SourceTables(home)
    return [
        MergeInput(
            source,
            *(
                tables.path(table, source, versions[table])
                for table in ("chunks", "extractions", "entity_mentions", "relation_mentions")
            ),
        )
        for source, versions in sorted(inputs.sources.items())
    ]


def find_previous(generation: Generation, inputs: GenerationInputs, recipe: str | None) -> Previous | None:
    """Return an earlier merge for the merge of `inputs`; None if another version of this package made its tables.

    Args:
        generation: The earlier merge.
        inputs: What is to be merged.
        recipe: The only recipe whose summaries are kept; all are when it is None.

    Raises:
        StoreError: the generation is damaged.
    """
    record = generation.record()
    tables = {table: generation.path(f"{table}.parquet") for table in MERGED_TABLES}
    if any(_columns(path) != MERGED_TABLES[table].names for table, path in tables.items()):
        return None
    before = merge_inputs(generation.home, record.inputs)
    comparable = record.inputs.code_version == inputs.code_version
    comparable = comparable and all(path.exists() for one in before for path in one.paths)
    return Previous(before, tables, comparable, recipe)


def has_outdated_summaries(generation: Generation, recipes: Recipes) -> bool:
    """Return True if another recipe than today's made a summary of the generation; raises StoreError."""
    return not generation.record().summaries.keys() <= {recipes.summaries}


def count_recipes(merged: "Merged") -> dict[str, int]:
    """Return recipe → rows with a summary made by it."""
    counts = Counter[str]()
    for rows in (merged.entities, merged.relations):
        for one in rows["summary_recipe"].drop_null().value_counts().to_pylist():
            counts[one["values"]] += one["counts"]
    return dict(sorted(counts.items()))


def _columns(path: Path) -> list[str]:
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is missing or cannot be read: {error}") from error
