"""`run`: ingestion, merge and publication of all that changed."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import chain
from uuid import uuid4

from rich.console import Console

from lightrag_dagster.cli.losses import print_few, print_losses, print_warnings
from lightrag_dagster.cli.progress import display
from lightrag_dagster.cli.terminal import console as terminal
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.progress import Display
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import BuilderLockedError, LightRAGError, may_pass
from lightrag_dagster.orchestration.runner import Outcome, bring_up_to_date
from lightrag_dagster.pipeline.pending import Pending
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.snapshots import newest_snapshot, published_snapshot


def run_pipeline(
    console: Console,
    sources: Sequence[str],
    overrides: Mapping[str, Mapping[str, object]],
    *,
    retry_failed: bool,
    wait: bool,
    verify: bool,
    as_json: bool,
) -> int:
    """Run the pipeline, print the outcome, and return the exit code: 0, or 1 if a source or the snapshot is withheld.

    `overrides` are settings for this run alone, by section; `retry_failed` asks again about chunks that failed for
    good; `wait` stays until batches are done; `verify` reads all files of the published snapshot.
    """
    settings = load_settings().changed(**overrides)
    settings = settings.retrying_failed() if retry_failed else settings
    account = str(uuid4())
    shown_on = terminal(stderr=True) if as_json else console
    with telling_failure(settings, account, as_json) as said, display(shown_on) as shown:
        outcome = bring_up_to_date(settings, sources, shown, account=account, verify=verify)
        while wait and (due := _wait(settings, outcome, shown)):
            outcome = outcome.followed_by(bring_up_to_date(settings, due, shown, account=account), due)
    return tell_outcome(console, outcome, as_json, said)


class _Warned(logging.Handler):
    """The warnings of some loggers as lines, each once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (line := record.getMessage()) not in self.lines:
            self.lines.append(line)


@contextmanager
def telling_failure(
    settings: Settings,
    account: str,
    as_json: bool = False,
    about: Mapping[str, object] | None = None,
    *,
    builds: bool = True,
) -> Iterator[list[str]]:
    """Print what a run had spent, and published if it `builds`, when an error ends the block.

    As JSON it is all of the outcome, with the error and `about`. The block gets the lines of which models and batches
    warn meanwhile; they are printed as well then.
    """
    models = logging.getLogger("lightrag_dagster.models")
    said = _Warned()
    home = Home.of(settings)
    before, began = _snapshots(home)[0], datetime.now(UTC).replace(microsecond=0)  # as snapshots tell their time
    models.addHandler(said)
    try:
        yield said.lines
    except BaseException as error:  # libraries report a signal in ways of their own
        newest, published = _snapshots(home)
        unreleased = newest.snapshot_id if newest and newest != published else None
        states = Pending(manifest=published, warnings=said.lines, unreleased=unreleased)
        spent = Outcome(transient=may_pass(error), states=states)
        is_of_run = builds and not isinstance(error, BuilderLockedError)  # else another process published
        # What was published elsewhere before is new where a copy of the home had not seen it.
        if is_of_run and newest and newest != before and datetime.fromisoformat(newest.published_at) >= began:
            spent.published = newest
        with suppress(LightRAGError):  # which is the error, or hides it
            spent.cost_usd = spent_by(settings, account)
        if as_json:
            why = str(error) if isinstance(error, LightRAGError) else f"it ended early: {type(error).__name__}"
            print_json(outcome_facts(spent, why) | dict(about or {}))
        elif isinstance(error, LightRAGError):  # a signal ends it with one line
            if spent.published is not None:
                _print_built(terminal(stderr=True), spent.published, unreleased)
            print_cost(terminal(stderr=True), spent.cost_usd)
            print_warnings(terminal(stderr=True), said.lines)
        raise
    finally:
        models.removeHandler(said)


def _snapshots(home: Home) -> tuple[Manifest | None, Manifest | None]:
    """Return the newest snapshot and the published one; None of a home that cannot be read."""
    with suppress(LightRAGError):
        return newest_snapshot(home), published_snapshot(home)
    return None, None


def spent_by(settings: Settings, account: str) -> float:
    """Return what an account has spent. US dollars; raises StoreError."""
    return Ledger(Home.of(settings).ledger).spent(account)


def outcome_facts(outcome: Outcome, error: str | None = None) -> dict[str, object]:
    """Return the facts of `print_outcome`, for programs; docs/operations.md describes them."""
    states = outcome.states
    return {
        "snapshot_id": states.manifest.snapshot_id if states.manifest else None,
        "built": outcome.published.snapshot_id if outcome.published else None,
        "waits_for_release": states.unreleased,
        "stopped": list(states.stopped),
        "ingested": outcome.ingested,
        "withheld": outcome.rejected | outcome.failed,
        "waiting": outcome.waiting,
        "unpublished": sorted({*states.unpublished, *outcome.failed}),
        "outdated": outcome.outdated,
        "outdated_parts": states.outdated,
        "cost_usd": outcome.cost_usd,
        "losses": [asdict(loss) for loss in states.losses],
        "warnings": states.warnings,
        "notes": [*chain.from_iterable(outcome.notes.values()), *outcome.tidied],
        "damaged": outcome.damaged,
        "passing": outcome.transient,
        "error": error,
    }


def tell_outcome(console: Console, outcome: Outcome, as_json: bool, said: Sequence[str], **more: object) -> int:
    """Print the outcome and what models `said` in warnings, as JSON with `more`.

    Return the exit code: 0, or 1 if a source or the snapshot is withheld.
    """
    warnings = [*outcome.states.warnings, *(line for line in said if line not in outcome.tidied)]
    outcome = replace(outcome, states=replace(outcome.states, warnings=warnings))
    if as_json:
        print_json(outcome_facts(outcome) | more)
    else:
        print_outcome(console, outcome)
    return 1 if outcome.failed or outcome.rejected or outcome.states.stopped else 0


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Print the outcome for people."""
    states = outcome.states
    print_few(console, (f"damaged, and built again: {damage}" for damage in outcome.damaged))
    withheld = chain(outcome.failed.items(), outcome.rejected.items())
    print_few(console, (f"{source} is withheld: {reason}" for source, reason in withheld), "red")
    if outcome.waiting:
        console.print(f"Waiting for batches: {some_of(outcome.waiting)}.")
        console.print("`batch` shows them; a later `run`, or Dagster's sensor `batches`, continues with them.")
    print_few(console, chain.from_iterable(outcome.notes.values()))
    if outcome.published is not None:
        _print_built(console, outcome.published, states.unreleased)
    elif outcome.graph_built and states.manifest is not None:
        console.print(f"Built the graph of {states.manifest.snapshot_id}.")
    elif states.manifest is not None:
        lacks = outcome.failed or outcome.rejected or outcome.waiting
        unchanged = "Nothing else changed" if outcome.notes.get("scopes") else "Nothing changed"
        what = "Withheld sources are not published" if lacks else unchanged
        console.print(f"{what}; {states.manifest.snapshot_id} stays published.")
    elif not outcome.waiting:
        console.print("Nothing is published: no source has an accepted version yet.")
    print_few(console, (f"{line}." for line in outcome.tidied))
    if states.unreleased and states.manifest is not None:
        waits = f"until `lightrag-dagster release` publishes {states.unreleased}"
        console.print(f"{states.manifest.snapshot_id} is held: readers open it {waits}.")
    for fault in states.stopped:
        console.print(f"{states.unreleased} is withheld: {fault}")
    if outcome.outdated or states.outdated:
        found = {name: one.outdated for name, one in states.sources.items() if name in outcome.outdated}
        rows = [f"{sum(rows.values()):,} rows of {name} ({', '.join(rows)})" for name, rows in found.items()]
        console.print(
            f"Outdated (made by other prompts, models or settings), kept: {some_of(rows + states.outdated)}"
            "; `lightrag-dagster backfill` shows what making them again would cost."
        )
    print_cost(console, outcome.cost_usd)
    unpublished = {*states.unpublished, *outcome.failed}
    told = "\n".join(outcome.rejected.values())
    warnings = [line for line in states.warnings if line not in told]  # a withheld pass is a warning of `status`
    print_losses(console, states.losses, warnings, states.unreleased, unpublished)


def _print_built(console: Console, built: Manifest, unreleased: str | None) -> None:
    """Say which snapshot was built, and how it differs from the one that was published before."""
    done = "Built {}, which waits for release." if unreleased else "Published {}."
    console.print(done.format(built.snapshot_id))
    for kind, counts in built.gates.difference.items():
        console.print(f"{kind}: {counts}")


def print_cost(console: Console, cost_usd: float) -> None:
    """Say what was spent, if it was something. US dollars."""
    if cost_usd:
        console.print(f"It cost ${cost_usd:.4f}.")


def _wait(settings: Settings, outcome: Outcome, display: Display) -> list[str]:
    """Wait until some sources can continue, and return them; none if no source waits for a batch."""
    sources = [source for source in outcome.waiting if source not in outcome.failed]
    if not sources:
        return []
    from lightrag_dagster.models.batch.waiting import wait_until_due

    display.run("waiting for")
    display.start("batches")
    due = asyncio.run(wait_until_due(settings.llm, Home.of(settings), sources))
    display.finish()
    return due
