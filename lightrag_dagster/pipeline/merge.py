"""The merge of accepted sources: which files it reads, what it keeps of the last merge, and asking for summaries."""

import logging
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.engines.factory import open_engine, shares_disk
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shard_steps import OpenModel
from lightrag_dagster.settings import EngineName
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous
from lightrag_dagster.storage.files import bucket
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.files.scratch import Scratch, open_scratch
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.records import GenerationInputs
from lightrag_dagster.storage.tables.source_tables import SourceTables

if TYPE_CHECKING:
    from lightrag_dagster.stages.merging.buckets import Size
    from lightrag_dagster.stages.merging.merge import Merged

BACKFILL = "`lightrag-dagster backfill --knowledge-base`"
"""The command that makes outdated summaries and vectors again."""

# What says to which descriptions, under which name, a summary belongs.
_SAID_OF_SUMMARIES = {"description", "summary_recipe", "text_fingerprint"}
_OF_SUMMARIES = {
    "entities": {"entity_id", "name"} | _SAID_OF_SUMMARIES,
    "relations": {"relation_id", "src", "tgt"} | _SAID_OF_SUMMARIES,
}

_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    """The files of a merge, its size, and the engine that works on it."""

    files: list[MergeInput]
    size: "Size"
    engine: EngineName


class Summarised(NamedTuple):
    """Merged tables, the calls for summaries, and how many of these failed."""

    merged: "Merged"
    usage: Usage
    failed: int


@contextmanager
def merge_after(
    last: Generation | None, inputs: GenerationInputs, recipes: Recipes, open_model: OpenModel, *, backfill: bool
) -> Iterator[Summarised]:
    """Merge, with the summaries of the last generation; the tables are there until the block ends.

    Raises:
        ProviderAccessError: no summary can succeed until a person acts; what was answered is stored.
        StoreError: a file is damaged, or the disk is full.
    """
    home = Home.of(recipes.settings)
    files = merge_inputs(home, inputs)
    work = _plan_work(home, files, recipes.settings.engine)
    if shares_disk(work.engine):
        bucket.fetch(home, [path for one in files for path in one.paths])
    with ExitStack() as opened:

        def merge(previous: Previous | None) -> Coroutine[Any, Any, Summarised]:
            scratch = opened.enter_context(open_scratch(home, shares_disk=shares_disk(work.engine)))
            return _merge(work, scratch, inputs, recipes, open_model, previous)

        try:
            previous = find_previous(last, recipes.summaries if backfill else None) if last else None
            made = run_sync(merge(previous))
        except StoreError as error:
            if last is None:
                raise
            if not backfill and has_outdated_summaries(last, recipes):
                raise StoreError(
                    f"{error}; the outdated summaries in it would be lost, {BACKFILL} makes them again"
                ) from error
            _log.warning("the last merge cannot be used, all summaries are asked for again: %s", error)
            made = run_sync(merge(None))
        yield made


def _plan_work(home: Home, files: list[MergeInput], engine: EngineName) -> _Work:
    """Return how large the merge is, and where its work is done: one bucket starts no workers."""
    from lightrag_dagster.stages.merging.buckets import Size

    mentions = [path for one in files for path in one.entity_mentions + one.relation_mentions]
    size = Size.of(bucket.count_rows(home, mentions))
    return _Work(files, size, engine if size.bits else "local")


async def _merge(
    work: _Work,
    scratch: Scratch,
    inputs: GenerationInputs,
    recipes: Recipes,
    open_model: OpenModel,
    previous: Previous | None,
) -> Summarised:
    """Group, summarise and finish."""
    from lightrag_dagster.stages.merging.merge import open_merge
    from lightrag_dagster.stages.merging.summaries import summarise

    settings, counts = inputs.merging, load_tokenizer(inputs.encoding).counts
    concurrency = recipes.settings.llm.of("summarise").max_concurrency
    with (
        open_engine(work.engine) as engine,
        open_merge(scratch, work.files, settings, inputs.embedder.identity, previous, engine, work.size) as merge,
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
                tuple(tables.paths(table, source, versions[table]))
                for table in ("chunks", "extractions", "entity_mentions", "relation_mentions")
            ),
        )
        for source, versions in sorted(inputs.sources.items())
    ]


def find_previous(generation: Generation, recipe: str | None) -> Previous | None:
    """Return the merged rows whose summaries are kept; None if an older version says too little of them.

    Args:
        generation: The last merge.
        recipe: The only recipe whose summaries are kept; all are when it is None.

    Raises:
        StoreError: the generation is damaged.
    """
    generation.record()
    paths = {table: generation.path(f"{table}.parquet") for table in ("entities", "relations")}
    if not all(columns <= _columns(paths[table]) for table, columns in _OF_SUMMARIES.items()):
        return None
    return Previous(paths["entities"], paths["relations"], recipe)


def has_outdated_summaries(generation: Generation, recipes: Recipes) -> bool:
    """Return True if another recipe than today's made a summary of the generation; raises StoreError."""
    return not generation.record().summaries.keys() <= {recipes.summaries}


def count_recipes(merged: "Merged") -> dict[str, int]:
    """Return recipe → rows with a summary made by it."""
    counts = Counter[str]()
    for path in (*merged.entities, *merged.relations):
        for one in read_parquet(path, ["summary_recipe"])["summary_recipe"].drop_null().value_counts().to_pylist():
            counts[one["values"]] += one["counts"]
    return dict(sorted(counts.items()))


def _columns(path: Path) -> set[str]:
    try:
        return set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path} is missing or cannot be read: {error}") from error
