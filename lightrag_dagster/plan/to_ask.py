"""The first questions that a run would ask about the chunks of a source: those without a row or a stored answer."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.models.stored_answers import StoredAnswers
from lightrag_dagster.pipeline.cross_shard import open_sql
from lightrag_dagster.pipeline.extractions import (
    EXTRACTION,
    PlaceFiles,
    Reading,
    answering,
    retryable_kinds,
    rules_of,
    todays_extractor,
    view_known,
)
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, ingestion
from lightrag_dagster.plan.estimates import instruction_tokens
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.storage.tables.source_tables import SourceTables

_ROWS_AT_ONCE = 2_048


@dataclass
class ToAsk:
    """The chunks of a source, those that failed for good, and by path of a document the others without a row.

    Among these, `new` are to be asked about, with questions of `tokens`; the answers about `free` are stored, or those
    of another source. `left` says whether some are not stored yet. Tokens.
    """

    chunks: int
    failed: int
    new: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    free: Counter[str] = field(default_factory=Counter)
    left: bool = False


def first_questions(
    source: str,
    tables: SourceTables,
    recipes: Recipes,
    answers: StoredAnswers,
    planned: set[str],
    reading: Reading = EXTRACTION,
) -> ToAsk:
    """Return the first questions about a source's chunks that a run would pay for.

    If some are left, later ones about chunks whose first answer is stored are asked of `answers`, as a run that goes
    on with a killed one would. None are asked where names are found instead.

    Args:
        source: The source.
        tables: Its tables, with today's chunks.
        recipes: Its recipes.
        answers: The stored answers of the model.
        planned: Keys of the questions that a run asks about other sources; those of this one are added.
        reading: The extraction, or a pass.

    Raises:
        StoreError: a table or the store is damaged.
    """
    step = IngestionStep.of(source, tables, recipes)
    extractor = todays_extractor(answers, recipes, recipes.settings.llm.of("extract").conversations, reading)
    chunks = tables.require("chunks", source)
    instructions = instruction_tokens(recipes, reading)
    stored = list[str]()
    with ingestion(tables, source) as scratch, open_sql(scratch, chunks.shards) as connection:
        _view_to_ask(connection, step, chunks.version, reading)
        found = ToAsk(*connection.execute(read_sql(__package__, "sql/failed_for_good")).fetchall()[0])
        for rows in [] if rules_of(recipes, reading) else _batches(connection, "FROM to_ask"):
            keys = _keys(rows, extractor)
            known = answers.known(keys)
            for key, row in zip(keys, rows.select(["chunk_id", "path", "tokens"]).to_pylist(), strict=True):
                found.left |= key not in known
                if key in known or key in planned:
                    found.free[row["path"]] += 1
                    stored += [row["chunk_id"]] if key in known else []
                else:
                    planned.add(key)
                    found.new[row["path"]] += 1
                    found.tokens[row["path"]] += instructions + row["tokens"]
        if found.left:
            connection.register("stored", pa.table({"chunk_id": pa.array(stored, pa.string())}))
            for rows in _batches(connection, "FROM to_ask SEMI JOIN stored USING (chunk_id)"):
                run_sync(extract(source, rows, extractor))
    return found


def _keys(chunks: pa.Table, extractor: Extractor) -> list[str]:
    """Return the keys of the answers to the first questions about chunks."""
    columns = (chunks[name].to_pylist() for name in ("content", "heading", "context", "language"))
    questions = (extractor.first_question(*one) for one in zip(*columns, strict=True))
    return [response_key(extractor.model.identity, one) for one in questions]


def _view_to_ask(connection: duckdb.DuckDBPyConnection, step: IngestionStep, chunks: str, reading: Reading) -> None:
    """Create the views `chunk`, `known` and `to_ask`."""
    documents = reading.documents(step)
    earlier = Reusable.of(reading.table, step.source, step.tables, reading.recipe(step.recipes))
    files = PlaceFiles(
        step.open("chunks", chunks),
        step.open("raw_documents", documents.version) if documents else [],
        earlier.open(step, reading.table),
    )
    view_known(connection, files, answering(retryable_kinds(retry_failed=step.settings.retries_failed), earlier.recipe))
    connection.execute(f"CREATE TEMP VIEW to_ask AS {read_sql(__package__, 'sql/to_ask')}")


def _batches(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[pa.Table]:
    for batch in connection.sql(query).to_arrow_reader(_ROWS_AT_ONCE):
        yield pa.Table.from_batches([batch])
