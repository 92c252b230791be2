"""Working through the shards of a source: each by itself, and what takes a look at all of them before."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa

from lightrag_dagster.core import progress
from lightrag_dagster.engines.engine import Engine, Item, Result
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline import dealing
from lightrag_dagster.pipeline.reuse import again_kinds
from lightrag_dagster.pipeline.shard_steps import Earlier, Step, mark_shard
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.storage.files import bucket
from lightrag_dagster.storage.locks.locks import ingesting
from lightrag_dagster.storage.tables.shards import Shard
from lightrag_dagster.storage.tables.source_tables import SourceTables, StoredShard, TableVersion

LOCK_SECONDS = 3600.0
"""How long a step waits for another ingestion of its source: longer than most, shorter than a night."""

# Shards that are handed to an engine at a time, for each of its workers: what they work on is in memory.
_SHARDS_A_WORKER = 4


@contextmanager
def ingestion(tables: SourceTables, source: str) -> Iterator[Path]:
    """Hold the lock of a source and give an empty folder; what a killed ingestion left in it is removed."""
    with ingesting(tables.home, source, LOCK_SECONDS):
        folder = tables.home.ingestion_folder(source)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"cannot write {folder}: {error.strerror or error}; nothing was changed") from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def each_shard(
    engine: Engine,
    function: Callable[[Item], Result],
    tasks: Iterable[Item],
    told: tuple[str, Sequence[Shard], int],
) -> list[Result]:
    """Do a task for each shard, some at a time, and tell the progress: a stage, its shards and all its rows."""
    stage, parts, total = told
    if len(parts) == 1:
        return [function(task) for task in tasks]
    made: list[Result] = []
    several, waiting = engine.workers > 1, iter(tasks)
    while window := list(islice(waiting, _SHARDS_A_WORKER * engine.workers if several else 1)):
        with progress.part(len(made), len(parts), total):
            made += engine.map(function, window)
        progress.report(stage, total * len(made) // len(parts), total)
    return made


def mark_duplicates(
    step: Step, stored: Sequence[StoredShard], originals: pa.Table, engine: Engine
) -> list[StoredShard]:
    """Store the shards again that have documents whose original stands in another one."""
    parts = [Shard(number, len(stored)) for number in range(len(stored))]
    wrong = {number: rows for number, shard in enumerate(parts) if (rows := shard.of(originals, "doc_id")).num_rows}
    marked = engine.map(partial(mark_shard, step), [(stored[number], rows) for number, rows in wrong.items()])
    again = dict(zip(wrong, marked, strict=True))
    return [again.get(number, one) for number, one in enumerate(stored)]


def moved_chunks(step: Step, documents: TableVersion, earlier: Earlier, scratch: Path) -> list[dealing.Dealt]:
    """Deal the chunks of text that stands in a document of another shard now; one deal for each earlier version."""
    if documents.shards == 1:
        return []
    tables, source = step.tables, step.source
    now = tables.paths("raw_documents", source, documents.version)
    with dealing.open_sql(scratch, documents.shards) as connection:
        moved = []
        for number, version in enumerate(earlier.versions):
            before = tables.paths("chunks", source, version)
            bucket.fetch(tables.home, [*now, *before])
            chunking = step.recipes.settings.chunking
            moved.append(dealing.deal_moved(connection, (now, before), chunking, scratch / f"moved-{number}"))
    return moved


def places_of(
    step: Step,
    versions: tuple[TableVersion, TableVersion | None],
    earlier: Earlier,
    parts: Sequence[Shard],
    scratch: Path,
) -> Callable[[Shard], pa.Table]:
    """Return what gives the places of a shard's chunks, with the text of those that are to be asked about.

    `versions` are those of the chunks, and of the documents whose languages the answers follow, if they do.
    """
    tables, source, (chunks, documents) = step.tables, step.source, versions
    if len(parts) == 1 and documents is None:
        columns = [name for name in dealing.PLACES.names if name in CHUNKS.names]
        return lambda _: tables.read("chunks", source, chunks.version, columns)
    now = tables.paths("chunks", source, chunks.version)
    spoken = tables.paths("raw_documents", source, documents.version) if documents else []
    before = [path for one in earlier.versions for path in tables.paths("extractions", source, one)]
    retry = step.recipes.settings.llm.of("extract").retry_failed
    before = [] if retry else before  # which chunks are asked again follows from their answers, so all texts are read
    bucket.fetch(tables.home, [*now, *spoken, *before])
    again = again_kinds(retry_failed=retry)
    with dealing.open_sql(scratch, len(parts)) as connection:
        known = dealing.Known(before, again, earlier.recipe)
        return dealing.deal_places(connection, (now, spoken), known, scratch / "places").of
