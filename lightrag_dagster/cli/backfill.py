"""`backfill`: make anew what edited prompts, models or settings would make otherwise."""

from collections.abc import Sequence

from rich.console import Console

from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.build.plan import Plan
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.build.states import backfill_plan, source_states
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.run import print_outcome
from lightrag_dagster.runner import bring_up_to_date
from lightrag_dagster.settings import load_settings


def run_backfill(
    console: Console, names: Sequence[str], *, everything: bool, knowledge_base: bool, max_cost: float | None
) -> int:
    """Print the price, then bring the named sources, the knowledge base, or all that has drifted up to date; publish.

    Where none of it is asked for, the price of all is all that happens. What was answered stays, so that a backfill
    that was interrupted goes on where it stopped. Returns the exit code: 0, or 1 when a source failed.
    """
    settings = load_settings()
    states, parts = source_states(settings), drifted_parts(Versions.of(settings))
    drifted = [one.source for one in states if one.drifted]
    if not names and not drifted and not parts:
        console.print("Everything was made with the prompts, models and settings of today.")
        return 0
    if names or (knowledge_base and not everything):
        chosen: Sequence[str] | None = names or None
        plan: Plan | None = make_plan(settings, chosen, backfill=True, knowledge_base=knowledge_base)
    else:
        chosen, plan = drifted or None, backfill_plan(settings, states)
    if plan is not None:
        print_plan(console, plan)
    if not (names or everything or knowledge_base):
        console.print(
            f"Nothing was started. These have drifted: {', '.join(drifted + parts)}; add --all, --source or "
            "--knowledge-base."
        )
        return 0
    knowledge_base |= everything and not names
    if max_cost is not None:
        settings = settings.model_copy(update={"llm": settings.llm.model_copy(update={"max_cost_usd": max_cost})})
    with display(console) as shown:
        outcome = bring_up_to_date(settings, chosen, shown, backfill=True, knowledge_base=knowledge_base)
    return print_outcome(console, outcome)
