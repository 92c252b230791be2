"""The ingestion of any number of sources in one run of Dagster, by the functions of the assets and their checks.

A run for each source costs Dagster eight times as much as the events that it leaves. Here one step works at the sources
in turn and logs these events for the partition of each. They have the tags by which Dagster tells what is stale.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    NULL_DATA_VERSION,
    NULL_EVENT_POINTER,
    extract_data_version_from_entry,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent

from lightrag_dagster.assets import INGESTION
from lightrag_dagster.assets.checks import SOURCE_CHECKS, SourceCheck
from lightrag_dagster.assets.declared import Declared
from lightrag_dagster.assets.metadata import ACCOUNT_TAG, IngestConfig
from lightrag_dagster.assets.namespace import Namespace
from lightrag_dagster.assets.one_source import CheckOfSource, StepOfSource
from lightrag_dagster.assets.progress_log import tag_cost
from lightrag_dagster.assets.runs import MANY_SOURCES
from lightrag_dagster.core.progress import Display
from lightrag_dagster.errors import LightRAGError, ProviderAccessError
from lightrag_dagster.orchestration.connections import in_one_transaction
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.tables.acceptance import Bounds, accept
from lightrag_dagster.storage.tables.source_tables import SourceTables

LOCK_SECONDS = 5.0
"""Time that the command line waits for another ingestion of a source before it says so."""

_CHECKED_TOGETHER = 32
"""Sources that are ingested before they are checked together."""

_CHECKED_SECONDS = 60.0
"""Time after which they are checked together, however few they are."""

_NAMED = 5
"""Failed sources that the error of a run names."""


class Ingestion:
    """An ingestion of several sources, or a backfill; it fills `done`, and `failed` with the reasons."""

    def __init__(self, lightrag: LightRAG, definitions: dg.Definitions, display: Display, *, backfill: bool) -> None:
        self.done: list[str] = []
        self.failed: dict[str, str] = {}
        self._lightrag = lightrag
        self._namespace = Namespace(lightrag.settings.namespace)
        self._display = display
        self._config = IngestConfig(backfill=backfill)
        self._unchecked: dict[str, None] = {}
        self._checked_at = monotonic()
        made = (one for one in definitions.assets or () if isinstance(one, dg.AssetsDefinition))
        self._keys = [self._namespace.key(asset) for step in INGESTION for asset in step.assets]
        self._specs = {spec.key: spec for assets in made for spec in assets.specs}

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
                named = "; ".join(f"{name}: {reason}" for name, reason in list(self.failed.items())[:_NAMED])
                more = f"; and {len(self.failed) - _NAMED:,} more" if len(self.failed) > _NAMED else ""
                failed = f"{len(self.failed):,} of {len(sources):,} sources failed, the others did not: {named}{more}"
                raise dg.Failure(failed, allow_retries=False)

        name = self._namespace.named("backfill" if self._config.backfill else "ingest")
        graph = dg.GraphDefinition(name=name, node_defs=[ingest])
        return graph.to_job(executor_def=dg.in_process_executor)

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
        """Ingest a source if there is something to do, or accept the backfill that was already made of it.

        Its error is noted, unless it is one that ends the command.
        """
        lightrag = self._lightrag
        tables = lightrag.tables(candidate=self._config.backfill)
        try:
            with ingesting(lightrag.home, source.name, LOCK_SECONDS):
                if self._is_due(context, source, tables):
                    self._ingest(context, source.name)
                elif self._config.backfill and tables.has_candidate(source.name):
                    accept(lightrag.home, source.name, *Bounds.of(lightrag.settings), candidate=True)
                else:
                    return
                self.done.append(source.name)
        except ProviderAccessError:
            raise
        except LightRAGError as error:
            self._fail(context, source.name, error)

    def _is_due(self, context: dg.OpExecutionContext, source: Source, tables: SourceTables) -> bool:
        """Say whether there is something to do for a source; raises what it cannot be listed for."""
        try:
            return why_ingest(source, tables, self._lightrag.recipes) is not None
        except LightRAGError:
            self._plan(context, source.name, self._keys)
            raise

    def _plan(self, context: dg.OpExecutionContext, source: str, keys: Iterable[dg.AssetKey]) -> None:
        """Log that tables of a source were to be made by this run, which fails: they are red at its partition.

        Else Dagster would show the partition as it was before.
        """
        for key in keys:
            planned = AssetMaterializationPlannedData(key, partition=source)
            event = DagsterEvent.build_asset_materialization_planned_event(context.job_name, context.op.name, planned)
            context.instance.report_dagster_event(event, context.run_id)

    def _ingest(self, context: dg.OpExecutionContext, source: str) -> None:
        """Make and check the tables of a source, one step after the other, until one has nothing to show yet."""
        self._display.run(source)
        left = self._keys
        inputs = _Inputs(context.instance)
        try:
            for step in INGESTION:
                self._display.start(step.name)
                made = self._made(step, StepOfSource(context, source, self._namespace.key(step.assets[0])))
                left = [key for key in left if key not in made]
                events = [self._materialization(source, key, result, inputs) for key, result in made.items()]
                self._log(context, events, self._checked(context, source, step) if made else ())
                if not made:  # the source waits for batches
                    break
                inputs.add(made)
                self._display.finish()
        except BaseException:
            self._plan(context, source, left)
            raise
        self._display.finish()

    def _made(self, step: Declared, context: StepOfSource) -> dict[dg.AssetKey, dg.MaterializeResult[Any]]:
        """Run a step for a source, and return what it made by the keys of the assets."""
        found = step.compute(context, config=self._config, lightrag=self._lightrag)
        results = [found] if isinstance(found, dg.MaterializeResult) else list(found)
        return {one.asset_key or context.asset_key: one for one in results}

    def _materialization(
        self, source: str, key: dg.AssetKey, result: dg.MaterializeResult[Any], inputs: "_Inputs"
    ) -> dg.AssetMaterialization:
        """Return the event of a table, with the tags that a run of this partition alone would give it."""
        spec = self._specs[key]
        tags = {CODE_VERSION_TAG: spec.code_version or "", DATA_VERSION_IS_USER_PROVIDED_TAG: "true"}
        tags |= {DATA_VERSION_TAG: _version(result)} | inputs.tags([dep.asset_key for dep in spec.deps])
        return dg.AssetMaterialization(
            key, partition=source, metadata=result.metadata, tags=tags | dict(result.tags or {})
        )

    def _checked(
        self, context: dg.OpExecutionContext, source: str, step: Declared
    ) -> Iterator[dg.AssetCheckEvaluation]:
        """Check the tables that a step has made of a source, except by what checks many together."""
        for one in SOURCE_CHECKS:
            if one.asset not in step.assets:
                continue
            if one.judged_together:
                self._unchecked.setdefault(source)
                continue
            of_source = CheckOfSource(context, source, self._namespace.key(one.asset))
            result = one.judged(of_source, config=self._config, lightrag=self._lightrag)
            yield self._evaluation(source, one, result)

    def _check_together(self, context: dg.OpExecutionContext) -> None:
        """Check the sources that were ingested since the last time by what checks many together.

        A source whose table is damaged fails alone.
        """
        sources = list(self._unchecked)
        self._unchecked.clear()
        self._checked_at = monotonic()
        for one in SOURCE_CHECKS:
            if not one.judged_together or not sources:
                continue
            try:
                results = one.judged_together(self._lightrag, sources, backfill=self._config.backfill)
            except LightRAGError as error:
                if len(sources) == 1:
                    self._fail(context, sources[0], error)
                    continue
                for source in sources:
                    self._unchecked.setdefault(source)
                    self._check_together(context)
                return
            self._log(context, [self._evaluation(source, one, result) for source, result in results.items()])

    def _fail(self, context: dg.OpExecutionContext, source: str, error: LightRAGError) -> None:
        """Note that a source failed, perhaps after its ingestion."""
        self.done = [name for name in self.done if name != source]
        context.log.error(f"{source}: {error}")
        self.failed[source] = str(error)

    def _evaluation(self, source: str, check: SourceCheck, result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
        """Return the event of a check."""
        return dg.AssetCheckEvaluation(
            asset_key=self._namespace.key(check.asset),
            check_name=check.name,
            passed=result.passed,
            metadata=result.metadata,
            severity=result.severity,
            description=result.description,
            partition=source,
        )

    def _log(
        self,
        context: dg.OpExecutionContext,
        events: Sequence[dg.AssetMaterialization | dg.AssetCheckEvaluation],
        checked: Iterable[dg.AssetCheckEvaluation] = (),
    ) -> None:
        """Log events, and those of checks that are still to be made; an error of one leaves the others."""
        found = list[dg.AssetMaterialization | dg.AssetCheckEvaluation](events)
        try:
            for one in checked:
                found.append(one)
        finally:
            with in_one_transaction(context.instance):
                for event in found:
                    context.log_event(event)  # type: ignore[arg-type]  # it logs checks too


class _Inputs:
    """The tables that others of a source are made from: data versions, and the last event of Dagster's log then."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._known: dict[dg.AssetKey, tuple[str, str]] = {}

    def add(self, made: Mapping[dg.AssetKey, dg.MaterializeResult[Any]]) -> None:
        """Add tables, after their events."""
        last = str(self._instance.event_log_storage.get_maximum_record_id())
        self._known |= {key: (_version(one), last) for key, one in made.items()}

    def tags(self, keys: Iterable[dg.AssetKey]) -> dict[str, str]:
        """Return the tags of an event that tell what it was made from; an asset of others is asked of Dagster."""
        tags = dict[str, str]()
        for key in keys:
            version, event = self._known.get(key) or self._upstream(key)
            tags |= {get_input_data_version_tag(key): version, get_input_event_pointer_tag(key): event}
        return tags

    def _upstream(self, key: dg.AssetKey) -> tuple[str, str]:
        record = self._instance.get_latest_data_version_record(key)
        if record is None:
            return NULL_DATA_VERSION.value, NULL_EVENT_POINTER
        version = extract_data_version_from_entry(record.event_log_entry) or NULL_DATA_VERSION
        return version.value, str(record.storage_id)


def _version(result: dg.MaterializeResult[Any]) -> str:
    return result.data_version.value if result.data_version else NULL_DATA_VERSION.value
