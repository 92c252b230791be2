"""Dagster jobs run in this process and recorded in the home's instance."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import dagster as dg

from lightrag_dagster.assets import alerts
from lightrag_dagster.assets.history import forget_runs, prune_daily, prune_runs
from lightrag_dagster.assets.jobs import MAX_RUNTIME_TAG
from lightrag_dagster.assets.metadata import ACCOUNT_TAG, COMMAND_TAG
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.partitions import keep_in_step, namespaces_of, sign
from lightrag_dagster.assets.runs import end_orphans, under_way, wipe_assets
from lightrag_dagster.core.progress import Display
from lightrag_dagster.errors import StoreError
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.orchestration.ingestion import Ingestion
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.home import Home

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Jobs:
    """The jobs of one knowledge base, run by a `command` on an `account`, which are tags of all runs."""

    def __init__(
        self, settings: Settings, instance: dg.DagsterInstance, display: Display, command: str, account: str
    ) -> None:
        self._instance = instance
        self._display = display
        # A command is not ended or tried again: Dagster cannot reach it.
        self._tags = {COMMAND_TAG: command, ACCOUNT_TAG: account, MAX_RUNTIME_TAG: "0", "dagster/max_retries": "0"}
        self._namespace = Namespace(settings.namespace)
        self._settings, self._home = settings, Home.of(settings)
        self._namespaces = namespaces_of(instance, self._home)  # those that it had before, too
        self._place = alerts.place_of(LightRAG(settings))
        # Of no pool: a command holds the builder's lock, for which a step of the daemon waits while it is in its pool.
        self._definitions = build_definitions(settings, pools=False)
        self._checks = {check.node_def.name for check in self._definitions.asset_checks or ()}

    def execute(self, job: str, config: dict[str, Any] | None = None, assets: Sequence[str] = ()) -> None:
        """Run one job over all sources and show its steps; raises the error of a step.

        With `assets`, only these of the job are made; `config` is that of steps, by their names without prefix.
        """
        self._display.run("all sources")
        run_id = str(uuid4())
        self._instance.add_event_listener(run_id, self._show)
        result = self._definitions.resolve_job_def(self._namespace.named(job)).execute_in_process(
            instance=self._instance,
            asset_selection=[self._namespace.key(asset) for asset in assets] or None,
            run_config={**_QUIET, "ops": {self._namespace.named(step): one for step, one in (config or {}).items()}},
            run_id=run_id,
            tags=self._tags,
        )
        checks, error = result.get_asset_check_evaluations(), dg.AssetCheckSeverity.ERROR
        if all(check.passed or check.severity is not error for check in checks):
            alerts.recovered(self._instance, [alerts.Subject(self._place, job, None)], run_id)

    def ingest(self, sources: Sequence[Source], *, backfill: bool) -> Ingestion:
        """Ingest sources in one run, and return what was done and what failed; raises ProviderAccessError."""
        ingestion = Ingestion(LightRAG(self._settings), self._definitions, self._display, backfill=backfill)
        job = ingestion.job(sources)
        try:
            job.execute_in_process(instance=self._instance, run_config=_QUIET, tags=self._tags)
        except dg.Failure:
            if not ingestion.failed:  # else it says what that has
                raise
        return ingestion

    def refuse_others(self) -> None:
        """Check that Dagster has no unfinished run of this knowledge base; raises StoreError."""
        if any(under_way(self._instance, one) for one in self._namespaces):
            raise StoreError("Dagster has an unfinished run; wait for it or end it, and run again")

    def forget_history(self) -> int:
        """Delete the events and logs of all runs, except of a report that is made now; return the number of runs."""
        for one in self._namespaces:
            wipe_assets(self._instance, one)
            alerts.forget(self._instance, one.prefix or self._home.name)
        self.execute("report")
        return sum(forget_runs(self._instance, one, self._tags[ACCOUNT_TAG]) for one in self._namespaces)

    def prune(self) -> str:
        """Delete old runs, once a day; return a sentence about it, which is empty when there is nothing to say."""
        return prune_daily(self._instance, self._home, self._namespace, self._settings.retention)

    def _show(self, entry: dg.EventLogEntry) -> None:
        event = entry.dagster_event
        if event is None or not event.step_key or event.step_key in self._checks:
            return
        if event.event_type is dg.DagsterEventType.STEP_START:
            self._display.start(self._namespace.without(event.step_key))
        elif event.is_step_success:
            self._display.finish()


def prune_history(settings: Settings, *, dry_run: bool) -> int:
    """Delete the old runs from the home's own instance; return their number.

    Raises:
        StoreError: the folder of the instance cannot be written.
    """
    home = Home.of(settings)
    with open_instance(home) as instance:
        return prune_runs(instance, home, Namespace(settings.namespace), settings.retention.runs_days, dry_run=dry_run)


@contextmanager
def open_jobs(
    settings: Settings, display: Display, command: str, account: str = "", *, partitions: bool = True
) -> Iterator[Jobs]:
    """Open the instance of a home, with a partition for each source, and without runs of killed commands.

    Without an `account`, calls are made on a new one. Without `partitions`, those that are there stay: for jobs that
    only read a snapshot, which need no sources.

    Raises:
        SourceError: the folder of sources cannot be listed.
        StoreError: the folder of the instance cannot be written, or another home has these partitions in it.
    """
    home = Home.of(settings)
    with open_instance(home) as instance:
        sign(instance, Namespace(settings.namespace), home)
        end_orphans(instance, home, Namespace(settings.namespace))
        jobs = Jobs(settings, instance, display, command, account or str(uuid4()))
        if partitions:
            keep_in_step(instance, Situation.looking(settings, refreshed=True))
        yield jobs
