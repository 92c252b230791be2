"""Bringing a knowledge base up to date through the real Dagster jobs, only where something changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import dagster as dg
from pydantic import BaseModel

from assets.automation.runs import end_orphans, terms_of
from assets.metadata import COMMAND_TAG, KEEP_DRIFTED
from assets.partitions import SOURCES
from lightrag_dagster.build.inheritance import drifted_parts, next_inputs
from lightrag_dagster.build.staleness import drifted, first_stale
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.cli.progress import Display
from lightrag_dagster.definitions import build_definitions
from lightrag_dagster.errors import LightRAGError, NoSnapshotError, ProviderAccessError
from lightrag_dagster.evaluation.filed_questions import answer_inputs, read_questions
from lightrag_dagster.evaluation.questions import read_gold
from lightrag_dagster.instance import open_instance
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import Source, chosen_sources, find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building
from lightrag_dagster.storage.manifest import Manifest
from lightrag_dagster.storage.repair import repair_current
from lightrag_dagster.storage.snapshots import current_snapshot, latest_snapshot
from lightrag_dagster.storage.tables import ALL_SOURCES, SourceTables

LOCK_SECONDS = 5.0
"""How long the command line waits for another builder before it says so."""

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Outcome:
    """What a run did.

    `waiting` are the sources that wait for batches at the provider. `drifted` is what was left as older prompts, models
    or settings made it: names of sources, and then `summaries` and `vectors` of the knowledge base. `damaged` are files
    of the snapshot that were missing or damaged, and were built again.
    """

    ingested: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    published: Manifest | None = None
    manifest: Manifest | None = None
    cost_usd: float = 0.0


def bring_up_to_date(
    settings: Settings,
    names: Sequence[str] | None,
    display: Display,
    *,
    backfill: bool = False,
    knowledge_base: bool = False,
    command: str | None = None,
    verify: bool = False,
) -> Outcome:
    """Ingest the sources that changed, then merge and publish when the result would differ.

    Args:
        settings: Settings of this run.
        names: Sources to look at; all when empty, none when None.
        display: Where progress is shown.
        backfill: Make anew what prompts, models, settings or code of today would make otherwise of the sources.
        knowledge_base: And of the knowledge base, its summaries and vectors, unless a source waits for batches.
        command: What the runs have in common that it starts; given to go on with what another call began.
        verify: Read all files of the current snapshot; else only their existence and size is checked.

    Raises:
        SourceError: no source is configured, or a name is not one.
        BuilderLockedError: another process builds in this home.
        ProviderAccessError: the endpoint needs a person's attention.
        LightRAGError: the merge or the publication failed; the last snapshot stays published.
    """
    home = Home(settings.home)
    sources = chosen_sources(settings, names) if names is not None else []
    with building(home, LOCK_SECONDS), open_instance(home) as instance:
        end_orphans(instance, home)
        damaged = repair_current(home, verify=verify)
        runner = _Runner(settings, instance, display, command or str(uuid4()), backfill=backfill)
        runner.sync_partitions(list(find_sources(settings)))
        outcome = Outcome(damaged=[str(one) for one in damaged])
        for source in sources:
            try:
                if runner.ingest(source):
                    outcome.ingested.append(source.name)
            except ProviderAccessError:
                raise
            except LightRAGError as error:
                outcome.failed[source.name] = str(error)
        outcome.waiting = runner.waiting(sources)
        # What waits for answers will say other things: to summarise and embed all before would be paid for twice.
        outcome.published = runner.publish(backfill=knowledge_base and not outcome.waiting)
        runner.ask()
        outcome.manifest = current_snapshot(home)
        tables, versions = SourceTables(home), Versions.of(settings)
        outcome.drifted = [source.name for source in sources if drifted(tables, source.name, versions)]
        outcome.drifted += drifted_parts(versions)
        outcome.cost_usd = Ledger(home.ledger).spent(runner.command)
    return outcome


def evaluate_modes(settings: Settings, display: Display) -> str:
    """Evaluate the published snapshot, whether or not it was before; return its id.

    Raises:
        NoSnapshotError: nothing is published yet.
        LightRAGError: a question cannot be asked, or a model gave no usable answer.
    """
    home = Home(settings.home)
    if (manifest := current_snapshot(home)) is None:
        raise NoSnapshotError(f"nothing has been published in {home.root} yet; run `lightrag-dagster run` first")
    with building(home, LOCK_SECONDS), open_instance(home) as instance:
        _Runner(settings, instance, display, str(uuid4())).evaluate()
    return manifest.snapshot_id


class _Runner:
    """Runs Dagster jobs in this process against the home's instance."""

    def __init__(
        self,
        settings: Settings,
        instance: dg.DagsterInstance,
        display: Display,
        command: str,
        *,
        backfill: bool = False,
    ) -> None:
        self._settings = settings
        self._home = Home(settings.home)
        self._instance = instance
        self._display = display
        self._backfill = backfill
        self._versions = Versions.of(settings)
        self._definitions = build_definitions(settings)
        self.command = command

    def sync_partitions(self, names: Sequence[str]) -> None:
        """Make Dagster's partitions the configured sources."""
        name = SOURCES.name
        assert name is not None
        known = set(self._instance.get_dynamic_partitions(name))
        for gone in known - set(names):
            self._instance.delete_dynamic_partition(name, gone)
        self._instance.add_dynamic_partitions(name, [added for added in names if added not in known])

    def ingest(self, source: Source) -> bool:
        """Run the ingestion job for one source when something of it is stale; say whether it ran."""
        signature = listing_signature(list_files(source))
        tables = SourceTables(self._home)
        backfill = self._backfill or self._goes_on_with_backfill(source)
        if first_stale(tables, source.name, signature, self._versions, backfill=backfill) is None:
            return False
        self._execute("ingest", source.name, {} if backfill else KEEP_DRIFTED)
        return True

    def _goes_on_with_backfill(self, source: Source) -> bool:
        command = sources_that_wait(self._settings.llm, self._home).get(source.name)
        return command is not None and KEEP_DRIFTED.items().isdisjoint(
            terms_of(self._instance, command, source.name).items()
        )

    def waiting(self, sources: Sequence[Source]) -> list[str]:
        """Return which of some sources wait for batches."""
        waiting = sources_that_wait(self._settings.llm, self._home)
        return [source.name for source in sources if source.name in waiting]

    def publish(self, *, backfill: bool) -> Manifest | None:
        """Run the merge and publication job when its result would differ from what is published."""
        newest, wanted = latest_snapshot(self._home), next_inputs(self._versions, backfill=backfill)
        if newest.inputs == wanted if newest is not None else not wanted.sources:
            return None
        self._execute("publish", tags={} if backfill else KEEP_DRIFTED)
        return current_snapshot(self._home)

    def ask(self) -> None:
        """Run the jobs that ask questions, where there are some and they, or the snapshot, are new."""
        self._ask("ask", "answers", read_questions(self._settings.questions), self._versions.answers)
        gold = read_gold(self._settings.evaluation.questions)
        self._ask("evaluate", "retrieval_evaluation", gold, self._versions.retrieval_evaluation)

    def evaluate(self) -> None:
        """Run the job that measures the modes."""
        self._execute("evaluate")

    def _ask(self, job: str, table: str, questions: Sequence[BaseModel], fingerprint: str) -> None:
        manifest = current_snapshot(self._home)
        if manifest is None or not questions:
            return
        current = SourceTables(self._home).current(table, ALL_SOURCES)
        inputs = answer_inputs(manifest.snapshot_id, questions)
        if current is None or current.inputs != inputs or current.fingerprint != fingerprint:
            self._execute(job)

    def _execute(self, job: str, partition: str | None = None, tags: Mapping[str, str] | None = None) -> None:
        self._display.run(partition or "all sources")
        run_id = str(uuid4())
        self._instance.add_event_listener(run_id, self._show)
        self._definitions.resolve_job_def(job).execute_in_process(
            instance=self._instance,
            partition_key=partition,
            run_config=_QUIET,
            run_id=run_id,
            tags={COMMAND_TAG: self.command} | dict(tags or {}),
        )

    def _show(self, entry: dg.EventLogEntry) -> None:
        event = entry.dagster_event
        if event is not None and event.step_key and event.event_type is dg.DagsterEventType.STEP_START:
            self._display.start(event.step_key)
        elif event is not None and event.is_step_success:
            self._display.finish()
