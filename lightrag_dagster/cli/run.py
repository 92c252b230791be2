"""`run`: bring everything up to date."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from lightrag_dagster.cli.pipeline import Outcome, bring_up_to_date
from lightrag_dagster.cli.progress import display
from lightrag_dagster.settings import load_settings


def run_pipeline(console: Console, sources: Sequence[str], overrides: Mapping[str, Mapping[str, object]]) -> int:
    """Run the pipeline, say what happened, and return the exit code: 0, or 1 when a source failed.

    `overrides` are settings for this run alone, by section.
    """
    settings = load_settings()
    for section, values in overrides.items():
        changed = getattr(settings, section).model_copy(update=values)
        settings = settings.model_copy(update={section: changed})
    with display(console) as shown:
        outcome = bring_up_to_date(settings, sources, shown)
    return print_outcome(console, outcome)


def print_outcome(console: Console, outcome: Outcome) -> int:
    """Say what happened and return the exit code: 0, or 1 when a source failed."""
    for source, reason in outcome.failed.items():
        console.print(f"[red]{source} failed[/]: ", end="")
        console.print(reason, markup=False)
    if outcome.published is not None:
        console.print(f"Published {outcome.published.snapshot_id}.")
    elif outcome.manifest is not None:
        console.print(f"Nothing changed; {outcome.manifest.snapshot_id} stays published.")
    if outcome.drifted:
        console.print(
            f"Made with other prompts, models or settings, and left so: {', '.join(outcome.drifted)}; "
            "`lightrag-dagster backfill` shows what making them anew would cost.",
            soft_wrap=True,
        )
    if outcome.cost_usd:
        console.print(f"It cost ${outcome.cost_usd:.4f}.")
    return 1 if outcome.failed else 0
