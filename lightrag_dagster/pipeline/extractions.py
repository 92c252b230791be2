"""The table `extractions` of a source, and `readings` of its passes: the responses of a model about its chunks.

Both are made alike: rows of unchanged chunks are kept, and the model is asked where there are none.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import progress
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ExtractionModel, FreeModel, OpenModel, Usage
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.fact_schemas import OF_COLUMNS, READINGS, of_pass
from lightrag_dagster.models.column_reader import ColumnReader
from lightrag_dagster.pipeline.cross_shard import RowsOf, open_sql, partition
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import (
    IngestionStep,
    Reusable,
    ShardResult,
    StageReport,
    each_shard,
    failures,
    first_reasons,
    ingestion,
    record,
)
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS, RAW_DOCUMENTS
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.extraction.mentions import unreadable_chunks
from lightrag_dagster.stages.facts.facts import FactReader
from lightrag_dagster.stages.facts.passes import Pass
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.tables.acceptance import accepted_sources
from lightrag_dagster.storage.tables.shards import Shard, shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import TableVersion

if TYPE_CHECKING:
    import duckdb

    from lightrag_dagster.models.rules import NameFinder

IN_ITS_LANGUAGE = """(language IS NULL OR extraction_key IN (
    extraction_key(chunk_id, recipe), extraction_key(chunk_id, recipe, language := language)
))"""
"""Condition on rows of EXTRACTIONS and the language of their chunk."""

PLACES = pa.schema(
    [
        *map(CHUNKS.field, ("chunk_id", "path", "chunk_index", "content", "heading", "context")),
        RAW_DOCUMENTS.field("language"),
    ]
)
"""Columns of CHUNKS that extraction reads, and the language that an answer follows: empty if unknown, null if none."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Waiting:
    """A report that nothing was made yet: the responses are in these batches at the provider."""

    batches: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """A table of responses about chunks: `extractions`, or the `readings` of a pass."""

    of_pass: Pass | None = None

    @property
    def table(self) -> str:
        """The name under which it has its versions."""
        return of_pass("readings", self.of_pass.name) if self.of_pass else "extractions"

    @property
    def purpose(self) -> str:
        """The purpose of its calls, as the ledger has it."""
        return self.table if self.of_pass else "extract"

    def recipe(self, recipes: Recipes) -> str:
        """Return the recipe of its rows."""
        return recipes.readings(self.of_pass) if self.of_pass else recipes.extractions

    def follows_languages(self, recipes: Recipes) -> bool:
        """Say whether its answers depend on the languages of documents: those of a pass do not."""
        return recipes.settings.extraction.document_language and self.of_pass is None

    def documents(self, step: IngestionStep) -> TableVersion | None:
        """Return the documents whose languages its answers follow, if they do; raises StoreError."""
        return step.tables.require("raw_documents", step.source) if self.follows_languages(step.recipes) else None

    def rows(self, answers: pa.Table) -> pa.Table:
        """Return the rows of the table, given those of EXTRACTIONS."""
        if self.of_pass is None:
            return answers
        names = pa.repeat(pa.scalar(self.of_pass.name), answers.num_rows)
        return answers.add_column(READINGS.get_field_index("pass"), READINGS.field("pass"), names)


EXTRACTION = Reading()


class _Asked(NamedTuple):
    """A table of responses that is made, and its earlier versions, whose rows may stay."""

    reading: Reading
    earlier: Reusable


class PlaceFiles(NamedTuple):
    """Files of chunks, of the documents whose languages the answers follow (none if they do not), and of extractions.

    The last are earlier ones, which may make a chunk known.
    """

    chunks: Sequence[Path]
    documents: Sequence[Path]
    earlier: Sequence[Path]


def readings_of(recipes: Recipes, source: str) -> list[Reading]:
    """Return the readings of the chunks of a source: the extraction, then those of its passes."""
    return [EXTRACTION, *map(Reading, recipes.passes_to_read(source))]


def extract_source(
    source: str, tables: SourceTables, recipes: Recipes, open_model: OpenModel, reading: Reading = EXTRACTION
) -> StageReport | Waiting:
    """Ask the model about every chunk of a source that has no row yet, into `extractions` or the table of a pass.

    By the method `mentions` no model is opened, and names are found instead. Rows of unchanged chunks are kept, except
    those that failed for a passing reason. A model that puts its questions into batches leaves only the report that
    the source waits for them. With an engine that has workers, `open_model`
    can be pickled, and each worker opens it.

    Raises:
        ProviderAccessError: no request can succeed without a change of settings or account; the answers so far are
            stored.
        StoreError: a table is missing or damaged, or the disk refuses.
    """
    recipes = recipes.of_source(source)
    step = IngestionStep.of(source, tables, recipes)
    rules = rules_of(recipes, reading)
    open_model = rules.open if rules else open_model
    by_rules = rules is not None
    with ingestion(tables, source) as scratch:
        chunks = tables.require("chunks", source)
        parts = shards(chunks.rows)
        asked = _Asked(reading, Reusable.of(reading.table, source, tables, reading.recipe(recipes)))
        documents = reading.documents(step)
        places = _places_of(step, chunks, documents, asked, parts, scratch)
        answered = _ask(step, asked, open_model, parts, places, by_rules=by_rules)
        if isinstance(answered, Waiting):
            _log.info("source %s waits for %d batches; its last accepted tables stay", source, len(answered.batches))
            return answered
        made, usage = answered
        inputs = {one.table: one.version for one in (chunks, documents) if one}
        recipe = recipes.table_recipe(reading.table, source)
        reasons = first_reasons(made)
        recorded = record(step, reading.table, made, inputs=inputs, recipe=recipe, reasons=reasons)
    return replace(recorded, usage=usage, answers_cost_usd=cost_of(tables, recorded.version))


def rules_of(recipes: Recipes, reading: Reading) -> "NameFinder | ColumnReader | None":
    """Return the rules that answer in place of a model, if they do."""
    if reading.of_pass is None:
        return recipes.name_finder
    return ColumnReader() if reading.of_pass.name == OF_COLUMNS else None


def _ask(
    step: IngestionStep,
    asked: _Asked,
    open_model: OpenModel,
    parts: Sequence[Shard],
    places: RowsOf,
    *,
    by_rules: bool,
) -> tuple[list[ShardResult], Usage] | Waiting:
    """Ask about the chunks of every shard: in this process, or in the workers of the engine."""
    settings = step.settings
    llm = settings.llm.of("extract")
    tasks = ((shard, places(shard)) for shard in parts)
    if len(parts) > 1 and (by_rules or not settings.llm.by_batch):
        with open_engine(settings.engine) as engine:
            if engine.workers > 1:
                share = max(1, llm.max_concurrency // engine.workers)
                ask = partial(_extract_in_worker, step, asked, open_model, share)
                answered = each_shard(engine, ask, tasks, (asked.reading.table, parts, len(parts)))
                return [made for made, _ in answered], sum((usage for _, usage in answered), Usage())

    async def ask_here() -> tuple[list[ShardResult], Usage] | Waiting:
        made = []
        async with open_model() as model:
            for number, task in enumerate(tasks):
                with progress.part(number, len(parts), len(parts)):
                    one = await _extract_shard(step, asked, model, llm.conversations, task)
                made += [one] if one else []
        return Waiting(frozenset(model.awaited)) if model.awaited else (made, model.usage)

    return run_sync(ask_here())


async def _extract_shard(
    step: IngestionStep, asked: _Asked, model: ExtractionModel, conversations: int, task: tuple[Shard, pa.Table]
) -> ShardResult | None:
    """Ask a model about the chunks of a shard, given their places; None while batches are awaited."""
    (shard, places), (reading, earlier) = task, asked
    retry, passages = step.settings.retries_failed, places.select(["chunk_id", "content"])
    read = partial(unreadable_chunks, passages=passages, echoes=Echoes.of(step.recipes.prompts))
    before = [one.select(EXTRACTIONS.names) for one in earlier.rows(step, reading.table, shard)]
    kept, left = keep_extractions(places, before, retry_failed=retry, unreadable=None if reading.of_pass else read)
    extractor = todays_extractor(model, step.recipes, conversations, reading)
    asks_one_by_one = not (step.settings.llm.by_batch or isinstance(model, FreeModel))
    if asks_one_by_one and step.settings.documents.max_failed_share < 1:
        extractor = replace(extractor, is_new=partial(_is_new, step, reading.table, extractor.recipe))
    made = await extract(step.source, left, extractor, known=kept.num_rows)
    if model.awaited:
        return None
    rows = pa.concat_tables([kept, made])
    stored = step.store(reading.table, reading.rows(rows))
    return ShardResult((stored,), (kept.num_rows,), failures(rows, "chunk_id", places))


def _extract_in_worker(
    step: IngestionStep,
    asked: _Asked,
    open_model: OpenModel,
    conversations: int,
    task: tuple[Shard, pa.Table],
) -> tuple[ShardResult, Usage]:
    """Open the model, and ask it about the chunks of a shard; return also what it did."""

    async def ask() -> tuple[ShardResult, Usage]:
        async with open_model() as model:
            made = await _extract_shard(step, asked, model, conversations, task)
        assert made is not None  # only batches are awaited, which no worker asks for
        return made, model.usage

    return run_sync(ask())


def _is_new(step: IngestionStep, table: str, recipe: str) -> bool:
    """Say whether no source has a usable answer of a recipe."""
    home = step.tables.home
    found = (SourceTables(home).current(table, source) for source in {step.source, *accepted_sources(home)})
    return not any(one and one.count("recipe", recipe) > one.count("status", "failed") for one in found)


def todays_extractor(
    model: ExtractionModel, recipes: Recipes, conversations: int, reading: Reading = EXTRACTION
) -> Extractor:
    """Return an extractor by today's settings and prompts, with a limit of conversations at once."""
    extraction, llm = recipes.settings.extraction, recipes.settings.llm.of("extract")
    # By batch, what one wave bought is stored when the next begins, which would pass over it, and so on without end.
    retries = recipes.settings.retries_failed and not recipes.settings.llm.by_batch
    count = load_tokenizer(recipes.settings.chunking.encoding).count
    if reading.of_pass:
        extraction = extraction.model_copy(update={"gleaning": 0})
    elif recipes.name_finder:
        extraction = extraction.model_copy(update={"answer_format": "rows", "gleaning": 0})
    given = (model, recipes.prompts, extraction, reading.recipe(recipes), count, conversations, llm.longer_outputs)
    if reading.of_pass:
        return FactReader(*given, of_pass=reading.of_pass, is_stored=model.is_stored, retries=retries)
    by_rules = recipes.name_finder is not None or recipes.settings.llm.provider == "offline"
    return Extractor(*given, by_rules=by_rules, is_stored=model.is_stored, retries=retries)


def cost_of(tables: SourceTables, version: TableVersion) -> float:
    """Return the cost of all stored responses of a table when they were bought. US dollars."""
    return pc.sum(tables.read(version.table, version.source, version.version, ["cost_usd"])["cost_usd"]).as_py() or 0.0


def retryable_kinds(*, retry_failed: bool) -> list[str]:
    """Return the kinds of errors after which a chunk is asked about again."""
    return ["transient", "permanent"] if retry_failed else ["transient"]


def keep_extractions(
    chunks: pa.Table,
    earlier: Sequence[pa.Table],
    *,
    retry_failed: bool,
    unreadable: Callable[[pa.Table], pa.Array] | None = unreadable_chunks,
) -> tuple[pa.Table, pa.Table]:
    """Keep the extractions of chunks that were asked about before.

    Args:
        chunks: rows of CHUNKS now, of which only `chunk_id` is read, and `language` if there is such a column: where it
            is not null, an answer that was written for another language does not count.
        earlier: rows of EXTRACTIONS of the same source; the first table that has a chunk counts.
        retry_failed: also ask again about chunks that failed permanently, and those of which no row could be read.
        unreadable: finds the latter; None where there are none.

    Returns:
        Rows of EXTRACTIONS, and the rows of CHUNKS that are still to be asked about.
    """
    again = pa.array(retryable_kinds(retry_failed=retry_failed))
    kept, left = [EXTRACTIONS.empty_table()], chunks
    for rows in earlier:
        known = rows.filter(
            pc.and_(
                pc.is_in(rows["chunk_id"], value_set=left["chunk_id"].combine_chunks()),
                pc.invert(pc.is_in(rows["error_kind"], value_set=again)),
            )
        )
        if retry_failed and unreadable:
            known = known.filter(pc.invert(pc.is_in(known["chunk_id"], value_set=unreadable(known))))
        known = _in_languages(known, left)
        kept.append(known)
        left = left.filter(pc.invert(pc.is_in(left["chunk_id"], value_set=known["chunk_id"].combine_chunks())))
    return pa.concat_tables(kept), left


def _in_languages(rows: pa.Table, chunks: pa.Table) -> pa.Table:
    """Return the rows of EXTRACTIONS that were written for no language, or for that of their chunk."""
    if "language" not in chunks.column_names or chunks["language"].null_count == chunks.num_rows:
        return rows
    with in_memory() as connection:
        connection.register("answer", rows.select(["chunk_id", "recipe", "extraction_key"]))
        connection.register("spoken", chunks.select(["chunk_id", "language"]))
        known = f"SELECT chunk_id FROM answer JOIN spoken USING (chunk_id) WHERE {IN_ITS_LANGUAGE}"
        ids = connection.sql(known).to_arrow_table()["chunk_id"].combine_chunks()
    return rows.filter(pc.is_in(rows["chunk_id"], value_set=ids))


def _places_of(
    step: IngestionStep,
    chunks: TableVersion,
    documents: TableVersion | None,
    asked: _Asked,
    parts: Sequence[Shard],
    scratch: Path,
) -> RowsOf:
    """Return a function that reads the places of a shard's chunks, with the text of those to be asked about.

    `documents` are those whose languages the answers follow, if they do.
    """
    tables, source, (reading, earlier) = step.tables, step.source, asked
    if len(parts) == 1 and documents is None:
        columns = [name for name in PLACES.names if name in CHUNKS.names]
        return lambda _: tables.read("chunks", source, chunks.version, columns)
    now = step.open("chunks", chunks.version)
    spoken = step.open("raw_documents", documents.version) if documents else []
    # Which chunks are asked again about follows from their answers; then all texts are read.
    retry = step.settings.retries_failed
    before = [] if retry else earlier.open(step, reading.table)
    counts = answering(retryable_kinds(retry_failed=retry), earlier.recipe)
    with open_sql(scratch, len(parts)) as connection:
        return partition_places(connection, PlaceFiles(now, spoken, before), counts, scratch / "places")


def answering(again: Sequence[str], recipe: str | None) -> str:
    """Return the SQL condition on rows of EXTRACTIONS whose chunks need no question.

    All rows answer except some kinds of failures, rows of another recipe if one is given, and rows that were written
    for another language than that of their chunk.
    """
    kinds = ", ".join(f"'{kind}'" for kind in again)
    whose = f" AND recipe = '{recipe}'" if recipe else ""
    return f"(error_kind IS NULL OR error_kind NOT IN ({kinds})){whose} AND {IN_ITS_LANGUAGE}"


def partition_places(connection: "duckdb.DuckDBPyConnection", files: PlaceFiles, answers: str, folder: Path) -> RowsOf:
    """Partition the places of chunks (PLACES) by the shards of their extractions; those of known chunks without text.

    Rows of earlier extractions under the condition `answers` make a chunk known.
    """
    view_known(connection, files, answers)
    return partition(connection, read_sql(__package__, "sql/asked"), folder, PLACES)


def view_known(connection: "duckdb.DuckDBPyConnection", files: PlaceFiles, answers: str) -> None:
    """Create views of chunks (`chunk`), of their languages (`spoken`) and of rows that make one `known`; as above.

    A chunk that several documents share has the language of the first, in order of path.
    """
    view_files(connection, "chunk", files.chunks, CHUNKS)
    view_files(connection, "document", files.documents, RAW_DOCUMENTS)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE spoken AS {read_sql(__package__, 'sql/spoken')}")
    view_files(connection, "earlier", files.earlier, EXTRACTIONS)
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW known AS "
        f"SELECT chunk_id, status FROM earlier LEFT JOIN spoken USING (chunk_id) WHERE {answers}"
    )
