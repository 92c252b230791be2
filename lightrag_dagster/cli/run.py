"""`run`: bring everything up to date."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli.progress import Display, display
from lightrag_dagster.runner import Outcome, bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home


def run_pipeline(
    console: Console,
    sources: Sequence[str],
    overrides: Mapping[str, Mapping[str, object]],
    *,
    wait: bool,
    verify: bool,
) -> int:
    """Run the pipeline, say what happened, and return the exit code: 0, or 1 when a source failed.

    `overrides` are settings for this run alone, by section; `wait` stays until batches are done; `verify` reads all
    files of the current snapshot.
    """
    settings = load_settings()
    for section, values in overrides.items():
        changed = getattr(settings, section).model_copy(update=values)
        settings = settings.model_copy(update={section: changed})
    with display(console) as shown:
        command = str(uuid4())
        outcome = bring_up_to_date(settings, sources, shown, command=command, verify=verify)
        while wait and (due := _wait(settings, outcome, shown)):
            further = bring_up_to_date(settings, due, shown, command=command)
            still = [source for source in outcome.waiting if source not in due]
            further.waiting += still
            further.failed |= outcome.failed
            further.damaged = outcome.damaged + further.damaged
            further.published = further.published or outcome.published
            outcome = further
    return print_outcome(console, outcome)


def print_outcome(console: Console, outcome: Outcome) -> int:
    """Say what happened and return the exit code: 0, or 1 when a source failed."""
    for damage in outcome.damaged:
        console.print(f"damaged, and built again: {damage}", soft_wrap=True)
    for source, reason in outcome.failed.items():
        console.print(f"{source} failed", style="red", end="")
        console.print(f": {reason}")
    if outcome.waiting:
        console.print(f"Waiting for batches: {', '.join(outcome.waiting)}.")
        console.print("`batch list` shows them; a later `run`, or Dagster's sensor `batches`, goes on with them.")
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


def _wait(settings: Settings, outcome: Outcome, display: Display) -> list[str]:
    """Wait until sources can go on, and return them; none when none waits for a batch, or one cannot go on."""
    sources = [source for source in outcome.waiting if source not in outcome.failed]
    if not sources:
        return []
    from lightrag_dagster.models.batch.waiting import wait_until_due

    display.run("waiting for")
    display.start("batches")
    due = asyncio.run(wait_until_due(settings.llm, Home(settings.home), sources))
    display.finish()
    return due
