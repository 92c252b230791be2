"""`plan`: what `run` or `backfill` would do and cost."""

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.build.past import Range
from lightrag_dagster.build.plan import Plan
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.settings import load_settings


def show_plan(console: Console, names: Sequence[str], *, backfill: bool, as_json: bool) -> None:
    """Print what a run, or a backfill, of some sources or of all would do; raises as `make_plan`."""
    settings = load_settings()
    plan = make_plan(settings, names, backfill=backfill, knowledge_base=backfill and not names)
    if as_json:
        console.print_json(json.dumps(plan.to_dict()))
        return
    print_plan(console, plan)
    if plan.remaking is None and (parts := drifted_parts(Versions.of(settings))):
        console.print(f"{' and '.join(parts).capitalize()} have drifted and stay; `plan --backfill` shows their price.")


def print_plan(console: Console, plan: Plan) -> None:
    """Print a plan as two tables: what each source needs, and what all of it costs."""
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
    costs = Table("", "calls", "input tokens", "output tokens", "real time", "by batch")
    if plan.sources:
        console.print(table)
        costs.add_row(
            "extraction",
            number(plan.calls),
            number(plan.input_tokens),
            number(plan.output_tokens),
            dollars(plan.extraction),
            dollars(plan.extraction_by_batch),
        )
        costs.add_row("summaries", "", "", "", *[dollars(plan.summaries)] * 2)
        costs.add_row("embeddings", "", "", "", *[dollars(plan.embeddings)] * 2)
    if anew := plan.remaking:
        costs.add_row(
            "summaries anew",
            number(anew.summary_calls),
            number(anew.summary_input_tokens),
            number(anew.summary_output_tokens),
            *[dollars(anew.summaries)] * 2,
        )
        tokens = number(anew.embedding_tokens)
        costs.add_row("vectors anew", number(anew.embedding_calls), tokens, "", *[dollars(anew.embeddings)] * 2)
    costs.add_row("all", "", "", "", dollars(plan.total), dollars(plan.total_by_batch), style="bold")
    console.print(costs)
    basis = "what this home has asked before" if plan.history else "a wide guess, since this home has no past yet"
    if plan.sources:
        console.print(f"First questions are counted; what follows from the answers is {basis}.")
    if plan.remaking and plan.remaking.summary_calls.high:
        console.print("Summaries that are made anew are counted; how long they will be is not known.")
    if not plan.known_price:
        console.print("A model's price is not known and counts as nothing: set llm.prices or embedding.prices.")


def number(value: Range) -> str:
    """Return a range of whole numbers in words."""
    low, high = round(value.low), round(value.high)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def dollars(value: Range) -> str:
    """Return a range of US dollars in words."""
    return f"${value.high:.4f}" if value.low == value.high else f"${value.low:.4f}–{value.high:.4f}"
