"""`backfill`: rebuild rows that were made with other prompts, models or settings."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from lightrag_dagster.cli.plan import print_plan
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.run import print_outcome
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import load_settings


def run_backfill(
    console: Console,
    names: Sequence[str],
    overrides: Mapping[str, Mapping[str, object]],
    *,
    everything: bool,
    knowledge_base: bool,
) -> int:
    """Print the cost, then rebuild the outdated rows of the named sources, the knowledge base or all; publish.

    Without a choice, only print the cost of all. `overrides` are settings for this backfill alone, by section. Answers
    are kept, so that another backfill resumes one that was interrupted. Return the exit code: 0, or 1 when a source is
    withheld.
    """
    settings = load_settings().changed(**overrides)
    refresh_upstream(settings)
    situation = Situation.looking(settings)
    chosen, absent = situation.chosen(names) if names else ([], [])
    names = [*(one.name for one in chosen), *absent]
    states = pending(situation)
    sources = list(names) or [name for name, state in states.sources.items() if state.outdated or state.backfill]
    if not names and not sources and not states.outdated:
        console.print("Everything was made with the current prompts, models and settings.")
        return 0
    if knowledge_base and not everything and not names:
        sources = []
    whole = (bool(states.outdated) and not names) or knowledge_base
    print_plan(console, make_plan(settings, sources or None, backfill=True, knowledge_base=whole))
    if not (names or everything or knowledge_base):
        outdated = ", ".join(sources + states.outdated)
        console.print(f"Nothing was started. These are outdated: {outdated}; add --all, --source or --knowledge-base.")
        return 0
    with display(console) as shown:
        outcome = bring_up_to_date(settings, sources or None, shown, backfill=True, knowledge_base=whole)
    return print_outcome(console, outcome)
