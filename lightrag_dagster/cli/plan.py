"""`plan`: what `run` would do and cost."""

import asyncio
import json
from collections.abc import Sequence

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from lightrag_dagster.chunking.chunks import chunk_documents
from lightrag_dagster.chunking.tokenizer import load_tokenizer
from lightrag_dagster.cost.ledger import Ledger
from lightrag_dagster.cost.past import Range, past_of
from lightrag_dagster.cost.plan import Plan, Rehearsal, compare, estimate, rehearse
from lightrag_dagster.cost.prices import price_of
from lightrag_dagster.documents.listing import list_files
from lightrag_dagster.documents.sources import chosen_sources
from lightrag_dagster.documents.table import read_documents
from lightrag_dagster.llm.providers import chat_identity
from lightrag_dagster.schemas import CHUNKS, EXTRACTIONS
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stores.home import Home
from lightrag_dagster.stores.responses import ResponseStore
from lightrag_dagster.stores.tables import SourceTables
from lightrag_dagster.versions import Versions


def show_plan(console: Console, names: Sequence[str], *, as_json: bool) -> None:
    """Read and cut the sources' documents, rehearse their extraction, and print what a run would do.

    Raises:
        SourceError: there is no such source, or one cannot be listed.
        StoreError: the home is damaged.
    """
    plan = make_plan(load_settings(), names)
    if as_json:
        console.print_json(json.dumps(plan.to_dict()))
    else:
        _print(console, plan)


def make_plan(settings: Settings, names: Sequence[str] = ()) -> Plan:
    """Return the plan for some sources, or for all; nothing is written but an empty response store where none is."""
    home, versions = Home(settings.home), Versions.of(settings)
    tables, tokenizer = SourceTables(home), load_tokenizer(settings.chunking.encoding)
    plans, old_chunks, old_rows = [], [CHUNKS.empty_table()], [EXTRACTIONS.empty_table()]
    with ResponseStore(home.responses) as store:
        model = Rehearsal(chat_identity(settings.llm.of("extract")), store, tokenizer.counts)
        for source in chosen_sources(settings, names):
            before = _current(tables, "raw_documents", source.name)
            documents = read_documents(source.name, list_files(source), before, settings.documents)
            chunks = chunk_documents(documents, settings.chunking)
            rows = _current(tables, "extractions", source.name)
            if rows is not None and rows.schema.names == EXTRACTIONS.names:
                old_rows.append(rows.cast(EXTRACTIONS))
                old_chunks.append(tables.read("chunks", source.name).cast(CHUNKS))
            plans.append(
                asyncio.run(
                    rehearse(
                        source.name,
                        compare(before, documents),
                        chunks,
                        model,
                        versions.prompts,
                        settings,
                        versions.extractions,
                        rows,
                        tokenizer.count,
                    )
                )
            )
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
    return estimate(plans, model.later_rounds, past, settings)


def _current(tables: SourceTables, table: str, source: str) -> pa.Table | None:
    return tables.read(table, source) if tables.current(table, source) else None


def _print(console: Console, plan: Plan) -> None:
    table = Table("source", "documents", "chunks to ask about", "answered already", "failed", "input tokens")
    for one in plan.sources:
        found = one.documents
        changes = f"{found.added} added, {found.changed} changed, {found.removed} removed"
        table.add_row(
            one.source,
            changes,
            str(one.chunks_new),
            str(one.chunks_stored),
            str(one.chunks_failed),
            f"{one.question_tokens:,}",
        )
    console.print(table)
    costs = Table("", "calls", "input tokens", "output tokens", "real time", "by batch")
    costs.add_row(
        "extraction",
        _number(plan.calls),
        _number(plan.input_tokens),
        _number(plan.output_tokens),
        _dollars(plan.extraction),
        _dollars(plan.extraction_by_batch),
    )
    costs.add_row("summaries", "", "", "", _dollars(plan.summaries), _dollars(plan.summaries))
    costs.add_row("embeddings", "", "", "", _dollars(plan.embeddings), _dollars(plan.embeddings))
    costs.add_row("all", "", "", "", _dollars(plan.total), _dollars(plan.total_by_batch), style="bold")
    console.print(costs)
    basis = "what this home has asked before" if plan.history else "a wide guess, since this home has no past yet"
    console.print(f"First questions are counted; what follows from the answers is {basis}.")
    if not plan.known_price:
        console.print("A model's price is not known and counts as nothing: set llm.prices or embedding.prices.")


def _number(value: Range) -> str:
    low, high = round(value.low), round(value.high)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _dollars(value: Range) -> str:
    return f"${value.high:.4f}" if value.low == value.high else f"${value.low:.4f}–{value.high:.4f}"
