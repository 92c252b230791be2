"""The ingestion of any number of sources in one run of Dagster, by the steps and checks that the assets have.

A run for each source costs Dagster eight times as much as the events that it leaves. Here one op works at the sources
in turn and logs these events for the partition of each. They have the tags by which Dagster tells what is stale.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any

import dagster as dg

from lightrag_dagster.assets import INGESTION, alerts
from lightrag_dagster.assets.checks import SOURCE_CHECKS, SourceCheck, judged_each
from lightrag_dagster.assets.ingestion import run_step
from lightrag_dagster.assets.jobs import is_wanted
from lightrag_dagster.assets.metadata import ACCOUNT_TAG, account_of, evaluation, last_made
from lightrag_dagster.assets.namespace import CODE_VERSION, DATA_VERSION, Namespace
from lightrag_dagster.assets.progress_log import listening, tag_cost
from lightrag_dagster.assets.runs import MANY_SOURCES
from lightrag_dagster.core.progress import Display
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import LightRAGError, ProviderAccessError, ProviderError, may_pass
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.tables.acceptance import Bounds, accept_all

_CHECKED_TOGETHER, _CHECKED_SECONDS = 32, 60.0
"""Sources that are ingested before they are checked together, and the time after which they are, however few."""

_NAMED = 5
"""Failed sources that the error of a run names."""


# Dagster itself writes the tags by which it tells what is stale, and has no public function for that.
_IS_OURS = "dagster/data_version_is_user_provided"
_INPUT_VERSION = "dagster/input_data_version"
_INPUT_EVENT = "dagster/input_event_pointer"


def _ends_all(error: LightRAGError) -> bool:
    """Say whether an error would meet every source; a budget of a month is that of one."""
    return isinstance(error, ProviderAccessError) and getattr(error, "of", "") != "month"


class _SourceEvents:
    """The events of a source's tables, made after each other, as the run of its partition alone would leave them.

    `left` are those that are not made yet.
    """

    def __init__(self, instance: dg.DagsterInstance, source: str, specs: Mapping[dg.AssetKey, dg.AssetSpec]) -> None:
        self._instance, self.source, self._specs = instance, source, specs
        self._inputs: dict[dg.AssetKey, dict[str, str]] = {}
        self._last: dict[dg.AssetKey, dg.EventLogRecord | None] = {}
        self.left = set(specs)

    def made(self, result: dg.MaterializeResult[Any]) -> dg.AssetMaterialization:
        """Return the event of a table, made from what Dagster knows now of the assets before it."""
        key, version = result.asset_key, result.data_version
        assert key is not None
        assert version is not None
        spec = self._specs[key]
        tags = {CODE_VERSION: spec.code_version or "", DATA_VERSION: version.value, _IS_OURS: "true"}
        for dep in spec.deps:
            if dep.asset_key not in self._inputs:
                self._inputs[dep.asset_key] = self._made_from(dep.asset_key)
            tags |= self._inputs[dep.asset_key]
        self.left.discard(key)
        self._last.pop(key, None)
        return dg.AssetMaterialization(
            key, partition=self.source, metadata=result.metadata, tags=tags | dict(result.tags or {})
        )

    def checked(self, key: dg.AssetKey, check: str, result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
        """Return the event of a check of a table as it was last made."""
        return evaluation(key, check, self.source, result, self._last_made(key))

    def _last_made(self, key: dg.AssetKey) -> dg.EventLogRecord | None:
        if key not in self._last:
            self._last[key] = last_made(self._instance, key, self.source)
        return self._last[key]

    def _made_from(self, key: dg.AssetKey) -> dict[str, str]:
        """Return the tags that name an input; as Dagster does, those of a partition by the hash of its version."""
        version, event = "INITIAL", "NULL"
        if key in self._specs:
            found = [one] if (one := self._last_made(key)) else []
        else:
            made = self._instance.fetch_materializations(key, limit=1).records
            found = [*(made or self._instance.fetch_observations(key, limit=1).records)]
        for record in found:
            version = ((record.asset_event and record.asset_event.tags) or {}).get(DATA_VERSION, version)
            event = str(record.storage_id)
        if key in self._specs:
            version = sha256(version.encode()).hexdigest()
        name = key.to_user_string()
        return {f"{_INPUT_VERSION}/{name}": version, f"{_INPUT_EVENT}/{name}": event}


class Ingestion:
    """An ingestion of several sources, or a backfill; it fills `done`, and `failed` with the reasons.

    `transient` is set if one of these may pass.
    """

    def __init__(self, lightrag: LightRAG, definitions: dg.Definitions, display: Display, *, backfill: bool) -> None:
        self.done: list[str] = []
        self.failed: dict[str, str] = {}
        self.transient = False
        self._lightrag = lightrag
        self._definitions = definitions
        self._display = display
        self._backfill = backfill
        self._namespace = Namespace(lightrag.settings.namespace)
        self._name = self._namespace.named("backfill" if backfill else "ingest")
        specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}
        self._steps = [step for step in INGESTION if is_wanted(step.name, lightrag.settings)]
        keys = [self._namespace.key(table) for step in self._steps for table in step.assets]
        self._specs = {key: specs[key] for key in keys}
        self._refused = ""  # why no pass can ask a model
        self._unchecked: dict[str, _SourceEvents] = {}
        self._bad = set[str]()  # sources of which a check failed
        self._checked_at = monotonic()

    def job(self, sources: Sequence[Source]) -> dg.JobDefinition:
        """Return the job that ingests some sources; its run fails if one of them did, after the others."""

        @dg.op(name=self._namespace.named(MANY_SOURCES), out=dg.Out(dg.Nothing))
        def ingest(context: dg.OpExecutionContext) -> None:
            account, ledger = context.run.tags[ACCOUNT_TAG], Ledger(self._lightrag.home.ledger)
            before = ledger.spent(account)
            try:
                self._each(context, sources)
            finally:
                tag_cost(context, lambda: ledger.spent(account) - before)
            if self.failed:
                named = some_of([f"{name}: {reason}" for name, reason in self.failed.items()], _NAMED, ";")
                failed = f"{len(self.failed):,} of {len(sources):,} sources failed, the others did not: {named}"
                raise dg.Failure(failed, allow_retries=False)

        return dg.GraphDefinition(name=self._name, node_defs=[ingest]).to_job(executor_def=dg.in_process_executor)

    def _each(self, context: dg.OpExecutionContext, sources: Sequence[Source]) -> None:
        """Ingest sources in turn, and check them together from time to time, and at an error that ends the command."""
        try:
            for source in sources:
                self._try(context, source)
                if len(self._unchecked) >= _CHECKED_TOGETHER or monotonic() - self._checked_at > _CHECKED_SECONDS:
                    self._check_together(context)
        finally:
            self._check_together(context)

    def _try(self, context: dg.OpExecutionContext, source: Source) -> None:
        """Ingest a source under its lock; its error is noted, unless it is one that ends the command."""
        try:
            with ingesting(self._lightrag.home, source.name):
                self._make(context, source)
        except LightRAGError as error:
            if _ends_all(error):
                raise
            self._fail(context, source.name, error)

    def _make(self, context: dg.OpExecutionContext, source: Source) -> None:
        """Make what there is to make of a source, or accept the backfill that was already made of it.

        If that fails, a run of its partition says so; else Dagster would show its tables as they were before.
        """
        lightrag, events = self._lightrag, _SourceEvents(context.instance, source.name, self._specs)
        tables = lightrag.tables(candidate=self._backfill)
        try:
            if why_ingest(source, tables, lightrag.recipes) is not None:
                self._ingest(context, source.name, events)
            elif self._backfill and tables.has_candidate(source.name):
                passes = lightrag.recipes.pass_names(source.name)
                accept_all(lightrag.home, source.name, Bounds.of(lightrag.settings), passes, candidate=True)
            else:
                return
        except BaseException as error:
            if events.left:
                self._show_failed(context, source.name, events.left, error)
            raise
        self.done.append(source.name)

    def _ingest(self, context: dg.OpExecutionContext, source: str, events: _SourceEvents) -> None:
        """Make and check the tables of a source, one step after the other, until it waits for batches."""
        account = account_of(context, self._lightrag.settings, source)
        ingestion = replace(self._lightrag.ingestion(source, account, backfill=self._backfill), refused=self._refused)
        spent = partial(Ledger(self._lightrag.home.ledger).spent, account.run, source)
        self._display.run(source)
        for step in self._steps:
            self._display.start(step.name)
            with listening(source, spent, context.log), self._first_reading_goes_on(step.name):
                found = run_step(step.name, ingestion)
            if isinstance(found, dg.AssetObservation):
                context.log_event(found)
                self._display.finish()
                return
            for result in found:
                context.log_event(events.made(result))
            for check in SOURCE_CHECKS:
                if found and check.asset in step.assets and not check.judge_together:
                    self._log_check(context, events, check, check.judge(self._lightrag, source, self._backfill))
            self._display.finish()
        self._unchecked[source] = events

    @contextmanager
    def _first_reading_goes_on(self, step: str) -> Iterator[None]:
        """Let an error after which no model can be asked cost only the passes, of this and of the other sources."""
        try:
            yield
        except ProviderAccessError as error:
            if step != "readings":
                raise
            alone = f"the facts of a pass alone; {error}"
            self._refused = alone if _ends_all(error) else ""
            raise ProviderError(alone) from error

    def _check_together(self, context: dg.OpExecutionContext) -> None:
        """Check the sources that were ingested since the last time by what checks many together."""
        sources, self._unchecked = self._unchecked, {}
        self._checked_at = monotonic()
        for check in SOURCE_CHECKS if sources else ():
            if judge := check.judge_together:
                for source, result in judged_each(judge, self._lightrag, [*sources], self._backfill).items():
                    if isinstance(result, LightRAGError):
                        self._fail(context, source, result)
                    else:
                        self._log_check(context, sources[source], check, result)
        place = alerts.place_of(self._lightrag)
        job = self._namespace.without(self._name)
        good = [alerts.Subject(place, job, source) for source in sources.keys() - self.failed.keys() - self._bad]
        alerts.recovered(context.instance, good, context.run_id)  # Dagster shows sensors of runs none of a command

    def _log_check(
        self, context: dg.OpExecutionContext, events: _SourceEvents, check: SourceCheck, result: dg.AssetCheckResult
    ) -> None:
        """Log the event of a check."""
        event = events.checked(self._namespace.key(check.asset), check.name, result)
        if not event.passed and event.severity is dg.AssetCheckSeverity.ERROR:
            self._bad.add(events.source)
        context.log_event(event)  # type: ignore[arg-type]  # it logs checks too

    def _fail(self, context: dg.OpExecutionContext, source: str, error: LightRAGError) -> None:
        """Note that a source failed, perhaps after its ingestion."""
        self.done = [name for name in self.done if name != source]
        context.log.error(f"{source}: {error}")
        self.failed[source] = str(error)
        self.transient |= may_pass(error)

    def _show_failed(
        self, context: dg.OpExecutionContext, source: str, left: Set[dg.AssetKey], error: BaseException
    ) -> None:
        """Leave a failed run of a partition, for the tables that this run could not make."""
        run = context.instance.create_run_for_job(
            self._definitions.resolve_job_def(self._name),
            tags={**context.run.tags, "dagster/partition": source},
            asset_selection=left,
        )
        context.instance.report_run_failed(run, str(error) or type(error).__name__)
