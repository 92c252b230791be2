"""`plan`: what `run` or `backfill` would do and cost."""

import json
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from lightrag_dagster.build.estimates import Estimate
from lightrag_dagster.build.generation import outdated
from lightrag_dagster.build.plan import Plan, SourcePlan, Step, make_plan
from lightrag_dagster.build.recipe import Recipes
from lightrag_dagster.settings import load_settings


def show_plan(console: Console, names: Sequence[str], *, backfill: bool, as_json: bool) -> None:
    """Print what a run, or a backfill, of some sources or of all would do; raises as `make_plan`."""
    settings = load_settings()
    knowledge_base = backfill and not names
    plan = make_plan(settings, names, backfill=backfill, knowledge_base=knowledge_base)
    if as_json:
        console.print_json(json.dumps(plan.to_dict()))
        return
    print_plan(console, plan)
    if not knowledge_base and (parts := outdated(Recipes.of(settings)).parts):
        console.print(
            f"{' and '.join(parts).capitalize()} are outdated and stay; `plan --backfill` shows their price.",
            soft_wrap=True,
        )


def print_plan(console: Console, plan: Plan) -> None:
    """Print a plan as two tables: what each source needs, and what all of it costs."""
    if plan.sources:
        console.print(_sources(plan.sources))
    console.print(_costs(plan))
    if plan.total.high > plan.total.low:
        ranges = [f"{dollars(one.low)} and {dollars(one.high)}" for one in (plan.total, plan.total_by_batch)]
        console.print(f"The price should be between {ranges[0]}, by batch between {ranges[1]}.", soft_wrap=True)
        basis = "what this home has asked before" if plan.history else "extractions of other texts"
        console.print(f"First questions are counted; the rest is estimated from {basis}.", soft_wrap=True)
    if not plan.known_price:
        console.print(
            "A model's price is not known and counts as nothing: set llm.prices or embedding.prices.", soft_wrap=True
        )
    for one in plan.sources:
        if one.problem:
            console.print(f"{one.source} would fail: {one.problem}", soft_wrap=True)


def dollars(value: float) -> str:
    """Return US dollars in words."""
    return f"${value:,.4f}" if value < 100 else f"${value:,.0f}"


def number(value: float) -> str:
    """Return a whole number in words, large ones in millions."""
    return f"{value:,.0f}" if value < 10_000_000 else f"{value / 1_000_000:,.0f} M"


def _table(*numbers: str, text: Sequence[str]) -> Table:
    """Return a table that fits into 80 columns: the first column may be folded, numbers never."""
    table = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    for index, name in enumerate(text):
        table.add_column(name, overflow="fold", no_wrap=index > 0)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _sources(plans: Sequence[SourcePlan]) -> Table:
    table = _table("to ask", "answered", "failed", "input tokens", text=("source", "documents"))
    for one in plans:
        changes = {name: count for name, count in vars(one.documents).items() if count}
        table.add_row(
            one.source,
            "\n".join(f"{number(count)} {name}" for name, count in changes.items()) or "unchanged",
            *map(number, (one.chunks_new, one.chunks_stored, one.chunks_failed, one.question_tokens)),
        )
    return table


def _costs(plan: Plan) -> Table:
    table = _table("calls", "input tokens", "output tokens", "real time", "by batch", text=("",))
    for name, step in plan.steps.items():
        table.add_row(name, *_numbers(step), dollars(step.cost.expected), dollars(step.cost_by_batch.expected))
    total = dollars(plan.total.expected), dollars(plan.total_by_batch.expected)
    table.add_row("all", "", "", "", *total, style="bold")
    return table


def _numbers(step: Step) -> list[str]:
    values: list[Estimate | None] = [step.calls, step.input_tokens, step.output_tokens]
    return [number(value.expected) if value else "" for value in values]
