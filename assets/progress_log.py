"""Lines about long steps in Dagster's log, for those who look at a run in the UI."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from logging import Logger

import dagster as dg

from lightrag_dagster.assets.metadata import ACCOUNT_TAG, COST_TAG, account_of
from lightrag_dagster.core import progress
from lightrag_dagster.errors import one_line
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.spending.ledger import Ledger

LINE_SECONDS = 60.0
"""Time between two lines."""

CANCELLED = "the run was cancelled; the answers stored so far are kept, and the next run continues from there"
"""The error of a step whose run was cancelled."""

_BEFORE_TAG = ".dagster/lightrag_spent_before"


class ProgressLog:
    """The lines of one step: how far it is, what was spent, how fast it goes and how long it will take."""

    def __init__(
        self, about: str, spent: Callable[[], float], log: Logger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin the lines about a source, or a knowledge base; `spent` returns the cost so far. US dollars."""
        self._about, self._spent, self._log, self._clock = about, spent, log, clock
        self._stage = ""
        self._began = self._line_at = 0.0
        self._done_before = 0
        self._noted_at = -LINE_SECONDS

    def count(self, stage: str, done: int, total: int) -> None:
        """Log a line, unless there was one within a minute; `done` of `total` units of a stage are finished."""
        now = self._clock()
        if stage != self._stage:
            self._stage, self._began, self._line_at, self._done_before = stage, now, now, done
        elif now - self._line_at >= LINE_SECONDS:
            self._line_at = now
            rate = (done - self._done_before) / (now - self._began) * 60
            parts = [f"{done:,} of {total:,} {stage}", f"{rate:,.0f}/min"]
            if spent := self._spent():
                parts.insert(1, f"${spent:,.2f}")
            if rate:
                parts.append(f"{_time((total - done) / rate)} left")
            self._log.info("%s: %s", self._about, ", ".join(parts))

    def note(self, text: str) -> None:
        """Log a wait, such as that for a provider, unless one was logged within a minute."""
        now = self._clock()
        if text and now - self._noted_at >= LINE_SECONDS:
            self._noted_at = now
            self._log.warning("%s: %s", self._about, text)


def _time(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"


@contextmanager
def logged(context: dg.AssetExecutionContext, lightrag: LightRAG) -> Iterator[None]:
    """Log how far the step is that works in the block, and tag its run with the cost; see `listening`."""
    settings = lightrag.settings
    source = context.partition_key if context.has_partition_key else None
    of = source if ACCOUNT_TAG in context.run.tags else None  # else it is the run's own, with the price of a gate
    spent = partial(Ledger(lightrag.home.ledger).spent, account_of(context, settings).run, of)
    before = _spent_before(context, spent)
    try:
        with listening(source or settings.namespace or "all sources", spent, context.log):
            yield
    finally:
        tag_cost(context, lambda: spent() - before)


def _spent_before(context: dg.AssetExecutionContext, spent: Callable[[], float]) -> float:
    """Return the cost of an account before the run; its first step notes that, since other runs may share the account.

    A run that Dagster executes again has the tags of the first.
    """
    if ACCOUNT_TAG not in context.run.tags:
        return 0.0
    run = context.instance.get_run_by_id(context.run.run_id) or context.run  # with the tags that it has by now
    noted_by, _, before = run.tags.get(_BEFORE_TAG, "").partition(" ")
    if noted_by != run.run_id:
        before = str(spent())
        context.instance.add_run_tags(run.run_id, {_BEFORE_TAG: f"{run.run_id} {before}"})
    return float(before)


@contextmanager
def listening(about: str, spent: Callable[[], float], log: Logger) -> Iterator[None]:
    """Log a line a minute about what works in the block, and a first one when a provider does not answer.

    A run that is cancelled ends with a sentence, not with where it was in our code.
    """
    lines = ProgressLog(about, spent, log)
    try:
        with progress.listening(lines.count, lines.note):
            yield
    except dg.DagsterExecutionInterruptedError:
        raise dg.DagsterExecutionInterruptedError(CANCELLED) from None


def tag_cost(context: dg.AssetExecutionContext | dg.OpExecutionContext, spent: Callable[[], float]) -> None:
    """Tag a run with its cost; a failure is logged, since the work of the step is done."""
    try:
        if (cost := spent()) or COST_TAG in context.run.tags:  # which may be that of another run
            context.instance.add_run_tags(context.run.run_id, {COST_TAG: f"${cost:,.6f}"})
    except Exception as error:  # of Dagster's storage too
        context.log.warning(f"the run has no tag {COST_TAG}: {one_line(error)}")
