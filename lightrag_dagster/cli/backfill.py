"""`backfill`: make anew what edited prompts, models or settings would make otherwise."""

from collections.abc import Sequence

from rich.console import Console

from lightrag_dagster.cli.pipeline import bring_up_to_date
from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.run import print_outcome
from lightrag_dagster.cost.planning import make_plan
from lightrag_dagster.settings import load_settings
from lightrag_dagster.states import backfill_plan, source_states


def run_backfill(console: Console, names: Sequence[str], *, everything: bool, max_cost: float | None) -> int:
    """Print the price, then bring the named sources, or all that have drifted, up to date and publish.

    Without a name and without `everything` the price is all that happens. What was answered stays, so that a backfill
    that was interrupted goes on where it stopped. Returns the exit code: 0, or 1 when a source failed.
    """
    settings = load_settings()
    states = source_states(settings)
    chosen = list(names) or [one.source for one in states if one.drifted]
    if not chosen:
        console.print("Every source was made with the prompts, models and settings of today.")
        return 0
    plan = make_plan(settings, chosen, backfill=True) if names else backfill_plan(settings, states)
    if plan is not None:
        print_plan(console, plan)
    if not names and not everything:
        console.print(f"Nothing was started. These have drifted: {', '.join(chosen)}; add --all or --source.")
        return 0
    if max_cost is not None:
        settings = settings.model_copy(update={"llm": settings.llm.model_copy(update={"max_cost_usd": max_cost})})
    with display(console) as shown:
        outcome = bring_up_to_date(settings, chosen, shown, backfill=True)
    return print_outcome(console, outcome)
