"""The table `raw_documents` of a source: its documents, read again where they changed."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.protocols import OpenModel, Usage
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.engines.engine import Engine
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.errors import SourceError
from lightrag_dagster.listing_schemas import LISTED
from lightrag_dagster.pipeline.captions import describing
from lightrag_dagster.pipeline.cross_shard import RowsOf, open_sql, partition
from lightrag_dagster.pipeline.listings import access_listed, earlier_listing
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import (
    IngestionStep,
    Reusable,
    ShardResult,
    StageReport,
    each_shard,
    earlier_versions,
    failures,
    first_reasons,
    ingestion,
    report,
)
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.captions import Describing
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.deletions import Losses, check_deletions
from lightrag_dagster.stages.documents.duplicates import mark_duplicates
from lightrag_dagster.stages.documents.listing import Earlier, Listing, to_replay
from lightrag_dagster.stages.documents.raw_documents import MAX_REPORTED, Slow
from lightrag_dagster.stages.documents.reading import is_unfinished, read_listed
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.duckdb import view_files
from lightrag_dagster.storage.files.atomic import read_parquet
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.shards import Shard, shards
from lightrag_dagster.storage.tables.source_tables import SourceTables, StoredShard, count_values
from lightrag_dagster.storage.versions import TableVersion

if TYPE_CHECKING:
    import duckdb

_STAGE = "lightrag_dagster.stages.documents"

_BY_PATH = [("path", "ascending")]
_BY_SIZE = [("bytes", "descending"), ("path", "ascending")]


class ReadDocuments(NamedTuple):
    """Documents by media type, the largest ones (path, bytes), and the first that failed (path, status, error).

    `slowest` took longest to read this time; `losses` are no longer there.
    """

    media_types: dict[str, int]
    largest: pa.Table
    failures: pa.Table
    slowest: Sequence[Slow] = ()
    losses: Losses = Losses(0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class ReadReport(StageReport):
    """Result of reading the documents of a source, with a description of them."""

    documents: ReadDocuments


def read_source(
    source: Source, tables: SourceTables, recipes: Recipes, open_describer: OpenModel | None = None
) -> ReadReport:
    """Read the documents of a source that changed into `raw_documents`, in a backfill all of them.

    `open_describer` opens the model that describes their images, without it they are left out.

    Raises:
        SourceError: the source cannot be listed, or lost too many documents at once; its tables stay as they are.
        StoreError: a table is damaged or the disk refuses.
    """
    step, name = IngestionStep.of(source.name, tables, recipes), source.name
    with ingestion(tables, name) as scratch, open_engine(recipes.settings.engine) as engine:
        known = read_before(tables, name, recipes.table_recipe("raw_documents", name))
        judge = _judged_by(tables, name)
        earlier = earlier_listing(source, tables, recipes) if known.version("stamps") else Earlier()
        if (version_before := known.version("raw_documents")) and isinstance(source.origin, Incremental):
            access = access_listed(source, tables, version_before)
            earlier = earlier._replace(documents=step.open("raw_documents", version_before), access=access)
        if source.mask and not _is_of(tables, name, known, recipes):
            known = Reusable({})  # texts that today's mask did not see stay in no document that cannot be opened
        listing = Listing(source, scratch / "files.parquet", earlier)
        parts = shards(listing.count, listing.size)
        tasks = _listed_by_shard(listing, parts, scratch)
        at_once = max(1, recipes.settings.llm.of("describe").max_concurrency // max(1, engine.workers))
        read = partial(_read_shard, step, source, known, open_describer, at_once)
        with _noted(tables, name, listing):
            each = each_shard(engine, read, tasks, ("documents", parts, listing.count))
        made = [one for one, _ in each]
        stored = [one.files[0] for one in made]
        before = step.open("raw_documents", judge.version) if judge.version else []
        now = tables.open_stored("raw_documents", name, stored)
        settings, about = recipes.settings.documents, _joined([reading for _, reading in each])
        if before or len(parts) > 1:
            with open_sql(scratch, len(parts)) as connection:
                with _noted(tables, name, listing):
                    about = about._replace(losses=_losses(name, connection, (before, now), settings))
                if len(parts) > 1:
                    originals = connection.sql(read_sql(_STAGE, "sql/duplicates")).to_arrow_table()
                    stored = _mark_duplicates(step, stored, originals, engine)
        about = about._replace(slowest=heapq.nlargest(MAX_REPORTED, (slow for one in made for slow in one.slowest)))
        losses_accepted = judge.accepted or recipes.settings.documents.accepts_deletes_of(name)
        version = _record(step, stored, made, listing, losses_accepted=losses_accepted)
    kept = sum(one.kept[0] for one in made)
    usage = sum((one.usage for one in made), Usage())
    return ReadReport(**vars(report(version, stored, kept, usage)), documents=about)


@contextmanager
def _noted(tables: SourceTables, source: str, listing: Listing) -> Iterator[None]:
    """Note for what reason the documents of a listing are not taken."""
    try:
        yield
    except SourceError as error:
        tables.refuse(source, listing.signature, str(error))
        raise


def _record(
    step: IngestionStep,
    documents: Sequence[StoredShard],
    made: Sequence[ShardResult],
    listing: Listing,
    *,
    losses_accepted: bool,
) -> TableVersion:
    """Record documents that were read, their stamps, and their listing if the next one tells what changed since.

    After a document that could not be read, the next run reads again.
    """
    tables, source, recipe = step.tables, step.source, step.recipes.table_recipe("raw_documents", step.source)
    version = tables.record(
        "raw_documents",
        source,
        documents,
        inputs={"files": "unread" if any(one.unfinished for one in made) else listing.signature},
        recipe=recipe,
        reasons=first_reasons(made),
        losses_accepted=losses_accepted,
    )
    inputs, beside = {"raw_documents": version.version}, SourceTables(tables.home)
    beside.record("stamps", source, [one.files[1] for one in made], inputs=inputs, recipe=recipe)
    if listing.state:
        listed = [one.files[2] for one in made]
        other = {"settings": "lacking"} if any(one.lacking for one in made) else {}  # so that all is listed again
        beside.record("listed", source, listed, inputs=inputs | listing.state | other, recipe=recipe)
    return version


def read_before(tables: SourceTables, source: str, recipe: str) -> Reusable:
    """Return the documents that were read before, and the stamps of today's `recipe`.

    In a backfill there are no stamps. Raises StoreError when a record is damaged.
    """
    documents = tuple(earlier_versions(tables, "raw_documents", source)[:1])
    stamps = None if tables.candidate else tables.current("stamps", source)
    made_from = {"raw_documents": documents[0] if documents else None}
    usable = stamps and (stamps.inputs, stamps.recipe) == (made_from, recipe)
    if not stamps or not usable or not tables.has("stamps", source, stamps.version):
        return Reusable({"raw_documents": documents})
    return Reusable({"raw_documents": documents, "stamps": (stamps.version,)})


def _is_of(tables: SourceTables, source: str, known: Reusable, recipes: Recipes) -> bool:
    """Say whether the documents that were read before are of today's recipe, that of their mask included."""
    now = tables.current("raw_documents", source)
    version = known.version("raw_documents")
    return now is not None and (now.version, now.recipe) == (version, recipes.table_recipe("raw_documents", source))


class _Judged(NamedTuple):
    """The version whose documents must not get lost, if there is one.

    With `accepted`, a person accepted what it had lost, and it is not merged yet.
    """

    version: str | None
    accepted: bool


def _judged_by(tables: SourceTables, source: str) -> _Judged:
    """Return the version that a new one is compared with: the accepted one.

    So a refusal stays one, however often the source is read, and losses do not add up over versions that were never
    accepted. Before any is, and after a person accepted the losses of a version that is still to be accepted, as while
    it waits for batches, it is that version. Raises StoreError when a record is damaged.
    """
    record = accepted(tables.home, source)
    found = earlier_versions(tables, "raw_documents", source)
    merged = record.tables["raw_documents"] if record else ""
    for one in (tables.current("raw_documents", source), SourceTables(tables.home).current("raw_documents", source)):
        if one and one.losses_accepted and one.version != merged and one.version in found:
            return _Judged(one.version, accepted=True)
    return _Judged(merged if merged in found else next(iter(found), None), accepted=False)


def _read_shard(
    step: IngestionStep,
    source: Source,
    known: Reusable,
    open_describer: OpenModel | None,
    at_once: int,
    task: tuple[Shard, pa.Table],
) -> tuple[ShardResult, ReadDocuments]:
    """Read the listed documents of a shard that changed since those of `known` were read, and describe them."""
    shard, listed = task
    documents, stamps = (known.first(step, table, shard) for table in ("raw_documents", "stamps"))
    usage = Usage()
    with describing(open_describer, step.recipes, at_once) as describe:
        shown = Describing(describe, step.recipes.descriptions, keep=not step.tables.candidate) if describe else None
        read = read_listed(source, listed, (documents, stamps), step.settings.documents, shown)
        usage = describe.usage if describe else usage
    rows = read.documents
    tables, lacking = {"raw_documents": rows, "stamps": read.stamps}, False
    if isinstance(source.origin, Incremental):
        tables["listed"], lacking = to_replay(source, listed, read.stamps)
    with ThreadPoolExecutor(len(tables)) as threads:  # of a bucket, each is a request
        stored = tuple(threads.map(step.store, tables, tables.values()))
    unfinished = pc.any(is_unfinished(source, rows)).as_py()
    failed = failures(rows, "path")
    made = ShardResult(stored, (read.unopened, 0), failed, usage, bool(unfinished), read.slowest, lacking=lacking)
    return made, _described(listed, rows)


def _described(listed: pa.Table, documents: pa.Table) -> ReadDocuments:
    """Describe documents that were listed and read."""
    sizes = listed.select(["path", "size"]).rename_columns(["path", "bytes"])
    failed = documents.filter(pc.is_in(documents["status"], value_set=pa.array(["failed", "stale"])))
    failures = _first(failed.select(["path", "status", "error"]), _BY_PATH)
    return ReadDocuments(count_values(documents["media_type"]), _first(sizes, _BY_SIZE), failures)


def _joined(readings: Sequence[ReadDocuments]) -> ReadDocuments:
    """Describe the documents of several shards."""
    types = sum((Counter(one.media_types) for one in readings), Counter[str]())
    largest = _first(pa.concat_tables([one.largest for one in readings]), _BY_SIZE)
    failures = _first(pa.concat_tables([one.failures for one in readings]), _BY_PATH)
    return ReadDocuments(dict(sorted(types.items())), largest, failures)


def _first(rows: pa.Table, order: Sequence[tuple[str, str]]) -> pa.Table:
    return rows.sort_by(list(order)).slice(0, MAX_REPORTED)


def _listed_by_shard(listing: Listing, parts: Sequence[Shard], scratch: Path) -> Iterator[tuple[Shard, pa.Table]]:
    """Yield each shard with the files of its documents."""
    if len(parts) == 1:
        yield parts[0], read_parquet(listing.path).cast(LISTED)
        return
    with open_sql(scratch, len(parts)) as connection:
        listed_in = partition_listing(connection, listing, scratch / "files")
    for shard in parts:
        yield shard, listed_in(shard)


def partition_listing(connection: "duckdb.DuckDBPyConnection", listing: Listing, folder: Path) -> RowsOf:
    """Partition the files of a source by the shards of their documents."""
    view_files(connection, "listed", [listing.path], LISTED)
    return partition(connection, read_sql(__package__, "sql/listed"), folder, LISTED)


def _losses(
    source: str,
    connection: "duckdb.DuckDBPyConnection",
    files: tuple[Sequence[Path], Sequence[Path]],
    settings: DocumentSettings,
) -> Losses:
    """Return what was lost from the version to compare with, `files` of which and of the new one are given.

    They become the views `before` and `now`. Raises SourceError as `check_deletions`.
    """
    for view, paths in zip(("before", "now"), files, strict=True):
        view_files(connection, view, paths, RAW_DOCUMENTS)
    return check_deletions(source, connection, settings)


def _mark_duplicates(
    step: IngestionStep, stored: Sequence[StoredShard], originals: pa.Table, engine: Engine
) -> list[StoredShard]:
    """Store the shards again that have documents whose original, in `originals` beside its `doc_id`, is in another."""
    parts = [Shard(number, len(stored)) for number in range(len(stored))]
    wrong = {number: rows for number, shard in enumerate(parts) if (rows := shard.of(originals, "doc_id")).num_rows}
    marked = engine.map(partial(_mark_shard, step), [(stored[number], rows) for number, rows in wrong.items()])
    again = dict(zip(wrong, marked, strict=True))
    return [again.get(number, one) for number, one in enumerate(stored)]


def _mark_shard(step: IngestionStep, task: tuple[StoredShard, pa.Table]) -> StoredShard:
    """Name the originals of documents in a stored file that have one in another shard."""
    stored, originals = task
    documents = step.tables.read_file("raw_documents", step.source, stored.name)
    return step.store("raw_documents", mark_duplicates(documents, originals))
