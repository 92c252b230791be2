"""`plan`: the work and the cost of a `run` or `backfill`."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from lightrag_dagster.cli.losses import print_few, print_warnings
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import console as terminal
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.evaluation.gold.gate import measured, to_ask, to_compare
from lightrag_dagster.evaluation.gold.rows import read_gold
from lightrag_dagster.evaluation.pricing import plan_questions
from lightrag_dagster.fact_schemas import of_pass
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.inputs import outdated
from lightrag_dagster.pipeline.listings import watermark_line
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import Estimate
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.plan.sources import PassPlan, SourcePlan
from lightrag_dagster.plan.steps import PlannedStep
from lightrag_dagster.settings import Settings, load_settings


def show_plan(
    console: Console, names: Sequence[str], *, backfill: bool, as_json: bool, retry_failed: bool = False
) -> None:
    """Print the work of a run, or a backfill, of some sources or of all; raises as `make_plan`."""
    settings = load_settings()
    refresh_upstream(settings)
    if retry_failed:
        settings = settings.retrying_failed()
    knowledge_base = backfill and not names
    with display(terminal(stderr=True)) as shown:
        plan = make_plan(settings, names, backfill=backfill, knowledge_base=knowledge_base, display=shown)
    plan_questions(plan, settings)
    plan.gate = gate_line(settings, plan) if backfill else None
    if as_json:
        print_json(plan.to_dict())
        return
    print_plan(console, plan)
    if settings.llm.provider == settings.embedding.provider == "offline" and not plan.total.high:
        console.print("The offline rules ask no model, so that nothing is paid.")
    rows = [f"{number(one.outdated)} rows of {one.source}" for one in plan.sources if one.outdated]
    rows += [
        f"{number(of.outdated)} rows of pass {name} of {one.source}"
        for one in plan.sources
        for name, of in one.passes.items()
        if of.outdated
    ]
    if what := some_of(rows + ([] if knowledge_base else outdated(Situation.looking(settings)).names)):
        console.print(f"{what[0].upper()}{what[1:]} are outdated and stay; `plan --backfill` shows their price.")


def print_plan(console: Console, plan: Plan) -> None:
    """Print a plan as two tables: the work of each source, and the cost of all."""
    if plan.sources:
        columns = ("source", "documents", "to ask", "answered", "failed", "input tokens")
        print_table(console, columns, [row for one in plan.sources for row in _rows(one)], wrap={"source", "documents"})
    for one in plan.sources:
        if one.watermark:
            console.print(watermark_line(one.source, one.watermark))
    failed = sum(one.chunks_failed + sum(of.chunks_failed for of in one.passes.values()) for one in plan.sources)
    if failed:
        again = "`run --retry-failed` asks again, at the price in `plan --retry-failed`"
        console.print(f"Failed for good, not in the price: {number(failed)}; {again}.")
    columns = ("", "calls", "input tokens", "output tokens", "real time", "by batch")
    print_table(console, columns, _cost_rows(plan), wrap={""}, bold_last=True)
    if plan.total.high > plan.total.low:
        ranges = [f"{dollars(one.low)} and {dollars(one.high)}" for one in (plan.total, plan.total_by_batch)]
        console.print(f"The price should be between {ranges[0]}, by batch between {ranges[1]}.")
        basis = "what this home has asked before" if plan.history else "extractions of other texts"
        counted = "counted on a random sample, so that all numbers are about right" if plan.sampled else "counted"
        console.print(f"First questions are {counted}; the rest is estimated from {basis}.")
    if models := ", ".join(filter(None, plan.unknown_prices)):  # a model without a name has a warning of its own
        console.print(f"The price of {models} is not known and counts as nothing: set llm.prices or embedding.prices.")
    print_warnings(console, [*plan.warnings, *(one.warning for one in plan.sources if one.warning)])
    print_few(console, (f"{one.source} would be withheld: {one.problem}" for one in plan.sources if one.problem))
    if plan.gate:
        console.print(plan.gate)


def gate_line(settings: Settings, plan: Plan) -> str | None:
    """Say what the gate before a planned backfill asks and costs; None without gold, or with nothing to ask.

    Raises:
        SettingsError: gold cannot be read, or gold.gate is set and no gold passage is done.
    """
    if not plan.sources or not (settings.gold.folder or settings.gold.gate):
        return None
    new = Counter({"extractions": sum(one.chunks_new for one in plan.sources)})
    for name, of in ((name, of) for one in plan.sources for name, of in one.passes.items()):
        new[of_pass("readings", name)] += of.chunks_new
    gold = read_gold(settings.gold.folder)
    situation = Situation.looking(measured(settings, gold))
    found = to_compare(situation, gold)
    if isinstance(found, str):
        return f"{found}." if new.total() else None
    of_plan = {one.source for one in plan.sources}
    planned = to_ask(situation, {source: rows for source, rows in found.tables.items() if source in of_plan})
    others = to_ask(situation, {source: rows for source, rows in found.tables.items() if source not in of_plan})
    asked = Counter({table: min(new[table], count) for table, count in planned.items()}) + others
    if not asked:
        return None  # they are as today's recipe makes them
    steps = {table: plan.steps.get("extraction" if table == "extractions" else table) for table in asked if new[table]}
    cost = sum(step.cost.expected * asked[table] / new[table] for table, step in steps.items() if step)
    is_priced = settings.llm.of("extract").provider == "offline" or all(map(steps.get, asked))
    price = f"for up to {dollars(cost)}" if is_priced else "at a price that is not known"
    when = "first" if settings.gold.gate else "first with --better-than-stored"
    rest = f"; {others.total():,} are of other sources, and come on top" if others.total() else " of that price"
    return f"Up to {max(asked.values()):,} gold passages are asked about {when}, in real time, {price}{rest}."


def dollars(value: float) -> str:
    """Return US dollars in words."""
    return f"${value:,.4f}" if value < 100 else f"${value:,.0f}"


def number(value: float) -> str:
    """Return a whole number in words, large ones in millions."""
    return f"{value:,.0f}" if value < 10_000_000 else f"{value / 1_000_000:,.0f} M"


def _rows(one: SourcePlan) -> list[tuple[str, ...]]:
    """Return the row of a source, and one for each of its passes."""
    counts = {name.replace("_", " "): count for name, count in vars(one.documents).items() if count}
    changes = [f"{number(count)} {name}" for name, count in counts.items()] if counts.keys() != {"unchanged"} else []
    return [
        (one.source, "would be withheld" if one.problem else "\n".join(changes) or "unchanged", *_chunks(one)),
        *((one.source, f"pass {name}", *_chunks(of)) for name, of in one.passes.items()),
    ]


def _chunks(of: SourcePlan | PassPlan) -> list[str]:
    return [number(one) for one in (of.chunks_new, of.chunks_stored, of.chunks_failed, of.question_tokens)]


def _cost_rows(plan: Plan) -> list[tuple[str, ...]]:
    """Return a row for each step, and the total."""
    rows = [
        (name, *_numbers(step), dollars(step.cost.expected), dollars(step.cost_by_batch.expected))
        for name, step in plan.steps.items()
    ]
    return [*rows, ("all", "", "", "", dollars(plan.total.expected), dollars(plan.total_by_batch.expected))]


def _numbers(step: PlannedStep) -> list[str]:
    values: list[Estimate | None] = [step.calls, step.input_tokens, step.output_tokens]
    return [number(value.expected) if value else "" for value in values]
