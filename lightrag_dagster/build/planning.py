"""The plan of a home: its sources as they are now, its tables as they were made last, and its past."""

from collections.abc import Sequence

import pyarrow as pa

from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.build.past import past_of
from lightrag_dagster.build.pending import why_ingest
from lightrag_dagster.build.plan import ExtractionRehearsal, Plan, compare, estimate, rehearse
from lightrag_dagster.build.recipe import Recipes as Versions
from lightrag_dagster.build.reuse import earlier_rows, keep_chunks, keep_extractions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.stages.chunking.chunks import chunk_documents
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source, chosen_sources
from lightrag_dagster.stages.documents.table import read_documents
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.tables import SourceTables


def make_plan(
    settings: Settings, names: Sequence[str] | None = (), *, backfill: bool = False, knowledge_base: bool = False
) -> Plan:
    """Return what a run, or a backfill, of some sources or of all would do and cost; no model is asked.

    Nothing is written but empty stores of responses and vectors where none are.

    Args:
        settings: Settings of the run.
        names: Sources; all when empty, none when None.
        backfill: Whether what has drifted of them is made anew.
        knowledge_base: Whether its summaries and vectors are, if they have drifted.

    Raises:
        SourceError: there is no such source, or one cannot be listed.
        StoreError: the home is damaged.
    """
    home, versions = Home(settings.home), Versions.of(settings)
    tables, tokenizer = SourceTables(home, candidate=backfill), load_tokenizer(settings.chunking.encoding)
    plans, old_chunks, old_rows = [], [CHUNKS.empty_table()], [EXTRACTIONS.empty_table()]
    with ResponseStore(home.responses) as store:
        model = ExtractionRehearsal(chat_identity(settings.llm.of("extract")), store, tokenizer.counts)
        for source in chosen_sources(settings, names) if names is not None else []:
            before = _current(tables, "raw_documents", source.name)
            documents = _documents(tables, source, before, versions)
            kept, left = keep_chunks(documents, earlier_rows(tables, "chunks", source.name, versions.chunks))
            chunks = pa.concat_tables([kept, chunk_documents(left, settings.chunking, versions.chunks)])
            earlier = earlier_rows(tables, "extractions", source.name, versions.extractions)
            answered, chunks = keep_extractions(chunks, earlier, retry_failed=settings.llm.of("extract").retry_failed)
            rows = _current(tables, "extractions", source.name)
            if rows is not None and rows.schema.names == EXTRACTIONS.names:
                old_rows.append(rows.cast(EXTRACTIONS))
                old_chunks.append(tables.read("chunks", source.name).cast(CHUNKS))
            plans.append(
                run_sync(
                    rehearse(
                        source.name,
                        compare(before, documents),
                        chunks,
                        model,
                        versions.prompts,
                        settings,
                        versions.extractions,
                        answered,
                        tokenizer.count,
                    )
                )
            )
        remaking = None
        if knowledge_base and drifted_parts(versions):
            from lightrag_dagster.build.remaking import rehearse_remaking

            remaking = rehearse_remaking(versions, store)
    llm = settings.llm.of("extract")
    past = past_of(
        pa.concat_tables(old_chunks),
        pa.concat_tables(old_rows),
        Ledger(home.ledger),
        versions.prompts,
        settings.extraction,
        tokenizer.counts,
        price_of(llm.provider, llm.model, llm.prices),
    )
    plan = estimate(plans, model.later_rounds, past, settings)
    if remaking is not None:
        plan.known_price &= remaking.known_price
        plan.remaking = remaking.at_most() if plan.calls.high else remaking
    return plan


def _documents(tables: SourceTables, source: Source, before: pa.Table | None, versions: Versions) -> pa.Table:
    """Return the documents that the run would work on: read, if it would read them."""
    reason = why_ingest(source, tables, versions)
    if before is None or (reason is not None and reason.startswith("raw_documents")):
        return read_documents(source.name, list_files(source), before, versions.settings.documents)
    return before


def _current(tables: SourceTables, table: str, source: str) -> pa.Table | None:
    return tables.read(table, source) if tables.current(table, source) else None
