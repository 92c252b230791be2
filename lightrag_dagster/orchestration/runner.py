"""Updates of a knowledge base through the real Dagster jobs, only where something changed.

Pending work is looked up first; Dagster is imported only if there is some, or if its instance is new, so that the UI
shows the partitions.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from lightrag_dagster.core.progress import Display
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import LightRAGError, StoreError
from lightrag_dagster.evaluation.gold.rows import gold_inputs, read_gold
from lightrag_dagster.evaluation.questions import answer_inputs, read_question_file, with_gold
from lightrag_dagster.indexes.views_refresh import refresh_views
from lightrag_dagster.models.access import require_models
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.pending import Pending, accept_pending, note_looks, pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.retention import Collection, last_collection
from lightrag_dagster.pipeline.scopes import pending_scopes, remove_damaged, scope_snapshot, tidy_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.ledger import Ledger, lost_stores
from lightrag_dagster.stages.documents.sources import Source, find_sources
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import Lock
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.purging import unfinished_purge
from lightrag_dagster.storage.snapshots.repair import find_published_damage, repair_published
from lightrag_dagster.storage.snapshots.snapshots import without_graph
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables
from lightrag_dagster.storage.take_over import take_over

if TYPE_CHECKING:
    from lightrag_dagster.orchestration.jobs import Jobs

Value = TypeVar("Value")


@dataclass
class Outcome:
    """Result of a run."""

    ingested: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # sources that wait for batches at the provider
    failed: dict[str, str] = field(default_factory=dict)  # sources that could not be ingested, and why
    rejected: dict[str, str] = field(default_factory=dict)  # those that were, but may not be merged, and why
    outdated: dict[str, int] = field(default_factory=dict)  # source → rows of another recipe
    notes: dict[str, list[str]] = field(default_factory=dict)  # source → further lines for people
    damaged: list[str] = field(default_factory=list)  # files of the snapshot that were not whole, and were rebuilt
    graph_built: bool = False  # the graph of a snapshot, after its publication
    published: Manifest | None = None  # the snapshot that was built
    cost_usd: float = 0.0
    tidied: list[str] = field(default_factory=list)  # lines about what was removed, would be, or is lost
    transient: bool = False  # a cause for which a source is withheld may pass by itself
    states: Pending = field(default_factory=Pending)  # what is pending after it

    def followed_by(self, later: "Outcome", sources: Sequence[str]) -> "Outcome":
        """Return the outcome of this run and a `later` one of some of its `sources`, for the same command."""

        def others(earlier: Mapping[str, Value]) -> dict[str, Value]:
            return {source: value for source, value in earlier.items() if source not in sources}

        return replace(
            later,
            ingested=sorted({*self.ingested, *later.ingested}),
            waiting=[source for source in self.waiting if source not in sources] + later.waiting,
            failed=others(self.failed) | later.failed,
            rejected=others(self.rejected) | later.rejected,
            outdated=others(self.outdated) | later.outdated,
            notes=others(self.notes) | later.notes,
            damaged=self.damaged + later.damaged,
            graph_built=self.graph_built or later.graph_built,
            tidied=self.tidied + later.tidied,
            published=later.published or self.published,
            transient=later.transient or self.transient,
        )


def bring_up_to_date(
    settings: Settings,
    names: Sequence[str] | None,
    display: Display,
    *,
    backfill: bool = False,
    knowledge_base: bool = False,
    account: str | None = None,
    verify: bool = False,
) -> Outcome:
    """Ingest the sources that changed, then merge and publish when the result would differ.

    Args:
        settings: Settings of this run.
        names: Sources to look at, which may be absent; all when empty, none when None.
        display: The view of the progress.
        backfill: Rebuild the rows of these sources that another recipe made.
        knowledge_base: Rebuild summaries and vectors of the knowledge base too, unless a source waits for batches.
        account: The account of its calls; given to continue another call's work.
        verify: Read all files of the published snapshot; else only their existence and size are checked.

    Raises:
        SourceError: no source is configured, or a name is not one.
        BuilderLockedError: another process builds in this home.
        ProviderAccessError: the endpoint needs a person's attention.
        LightRAGError: the merge or the publication failed; the last snapshot stays published.
    """
    home = Home.of(settings)
    tidied = [*take_over(home), *tidy_scopes(settings), *_left(home)]  # before a model makes an empty store
    account, outcome = account or str(uuid4()), Outcome(tidied=tidied)
    refresh_upstream(settings)
    outcome.damaged = _repair(settings, verify=verify) + remove_damaged(settings, verify=verify)
    refresh_views(home, verify=verify)
    situation = Situation.looking(settings, refreshed=True)  # by the look for damage
    sources, absent = situation.chosen(names) if names is not None else ([], [])
    states = pending(situation)
    unknown = sources and not any(one.name != "dagster.yaml" for one in home.dagster.glob("*"))
    if _is_busy(states, sources) or unknown or backfill or knowledge_base or evaluations_pending(situation):
        from lightrag_dagster.orchestration.jobs import open_jobs

        tag = "backfill" if backfill or knowledge_base else "run"
        with building(home) as lock, open_jobs(settings, display, tag, account) as jobs:
            work = _PendingWork(situation.recipes, lock, jobs, outcome, account)
            work.everything(sources, states, backfill=backfill, knowledge_base=knowledge_base)
        states = pending(Situation.looking(settings))
    named = [one.name for one in sources] if names else states.sources if names is not None else []
    looked_at = [name for name in (*named, *absent) if name in states.sources]  # others were removed
    note_looks(home, map(states.sources.__getitem__, looked_at), published=states.publish is None)
    outcome.cost_usd = Ledger(home.ledger).spent(account)
    return _complete(outcome, states, looked_at, backfill=backfill)


def _left(home: Home) -> Iterator[str]:
    """Yield lines that Dagster's history must not have, which would keep the names that a purge removes."""
    yield from lost_stores(home)
    yield from unfinished_purge(home)


def _is_busy(states: Pending, sources: Sequence[Source]) -> bool:
    """Say whether there is something to do for one of the sources, or to publish."""
    chosen = (states.sources[source.name] for source in sources)
    publishes = states.publish is not None or states.graph == "not built yet" or bool(states.scopes)
    return publishes or any(state.busy or state.problem for state in chosen)


def _repair(settings: Settings, *, verify: bool) -> list[str]:
    """Remove damaged parts of the published snapshot, so that this run rebuilds them; return their descriptions."""
    home = Home.of(settings)
    if not find_published_damage(home, verify=verify):
        return []
    there = {*find_sources(settings), CURATION}
    with building(home) as lock:
        return [str(one) for one in repair_published(home, there, verify=verify, lock=lock)]


def evaluations_pending(situation: Situation) -> list[tuple[str, str]]:
    """Return the jobs, each with its asset, that have not asked or measured the published snapshot yet."""
    if situation.published is None:
        return []
    questions = read_question_file(situation.settings.questions)
    gold = read_gold(situation.settings.gold.folder, warns=False)  # which is said where it is scored
    filed, shown, recipes = with_gold(questions), situation.published.snapshot_id, situation.recipes
    wanted = {
        "answers": (questions, answer_inputs(shown, questions), recipes.answers),
        "retrieval_evaluation": (filed, answer_inputs(shown, filed), recipes.retrieval_evaluation),
        "extraction_evaluation": (gold.passages, gold_inputs(shown, gold), recipes.extraction_evaluation),
    }
    found = []
    for table, (is_there, inputs, recipe) in wanted.items():
        current = SourceTables(situation.home).current(table, ALL_SOURCES)
        if is_there and (current is None or current.inputs != inputs or current.recipe != recipe):
            found.append(("ask" if table == "answers" else "evaluate", table))
    return found


def evaluate_modes(settings: Settings, display: Display, account: str) -> str:
    """Evaluate the published snapshot on an account, even if it was evaluated before; return its id.

    Raises:
        NoSnapshotError: nothing is published yet.
        LightRAGError: a question cannot be asked, or a model gave no usable answer.
    """
    from lightrag_dagster.orchestration.jobs import open_jobs

    situation = Situation.looking(settings)
    manifest = situation.require_published()
    with building(situation.home), open_jobs(settings, display, "evaluate", account, partitions=False) as jobs:
        jobs.execute("evaluate", assets=["retrieval_evaluation"])
    return manifest.snapshot_id


def make_report(settings: Settings, display: Display) -> None:
    """Materialise the report asset, as the schedule `morning` does."""
    from lightrag_dagster.orchestration.jobs import open_jobs

    with building(Home.of(settings)), open_jobs(settings, display, "report") as jobs:
        jobs.execute("report")


class _PendingWork:
    """The pending work of one run, as jobs of Dagster."""

    def __init__(self, recipes: Recipes, lock: Lock, jobs: "Jobs", outcome: Outcome, account: str) -> None:
        self._recipes, self._lock, self._account = recipes, lock, account
        self._home = Home.of(recipes.settings)
        self._jobs = jobs
        self._outcome = outcome

    def _now(self) -> Situation:
        """Return the situation as it is now: each ingestion and publication changes it."""
        return Situation.building(self._recipes, self._lock)

    def everything(self, sources: Sequence[Source], states: Pending, *, backfill: bool, knowledge_base: bool) -> None:
        from lightrag_dagster.pipeline.gates import read_checks

        settings = self._recipes.settings
        with Looks(self._home.ledger).noting(KNOWLEDGE_BASE):  # before anything is bought
            require_models(settings)
            read_checks(settings)
        for backfills in (False, True):
            due = [source for source in sources if self._is_due(source, states, backfills, asked=backfill)]
            if due:
                done = self._jobs.ingest(due, backfill=backfills)
                self._outcome.ingested += done.done
                self._outcome.failed |= done.failed
                self._outcome.transient |= done.transient
        accept_pending(settings)
        waiting = bool(sources_that_wait(settings.llm, self._home))
        # Sources that wait for responses will change the merge: to summarise and embed before that would cost twice.
        self._publish(backfill=knowledge_base and not waiting)
        if settings.builds_graph and without_graph(self._home):
            self._jobs.execute("publish", assets=["published_graph"])
            self._outcome.graph_built = True
        ledger = Ledger(self._home.ledger)
        before = ledger.spent(self._account)
        for job, asset in evaluations_pending(self._now()):
            self._jobs.execute(job, assets=[asset])
        if (usd := ledger.spent(self._account) - before) > 0:
            self._outcome.notes["questions"] = [f"Of the cost, ${usd:.4f} is for filed questions and gold passages."]
        if pruned := self._jobs.prune():
            self._outcome.tidied.append(pruned)

    def _is_due(self, source: Source, states: Pending, backfill: bool, *, asked: bool) -> bool:
        """Say whether there is something to do for a source, in a backfill or an ordinary ingestion, as `asked`.

        The other kind is due too where the source waits for batches of it, and a backfill that was already made where
        it may be accepted now; one with a problem is, so that Dagster shows it as failed.
        """
        name, state = source.name, states.sources[source.name]
        waits = state.backfill_waits if backfill else state.waits
        if name in self._outcome.failed or (backfill != asked and not waits):
            return False
        if state.problem or not backfill:
            return bool(state.problem or state.ingest or waits)
        tables = SourceTables(self._home, candidate=True)
        try:
            return why_ingest(source, tables, self._recipes) is not None or tables.has_candidate(name)
        except LightRAGError as error:
            self._outcome.failed[name] = str(error)
            return False

    def _publish(self, *, backfill: bool) -> None:
        now = self._now()
        is_new = next_publication(now, backfill=backfill) is not None
        if is_new or pending_scopes(now, backfill=backfill):
            before, scopes = _collected(self._home), _scopes(now.settings)
            asked = {"config": {"backfill": backfill}}
            self._jobs.execute("publish", config={"merge": asked, "knowledge_base": asked})
            self._outcome.published = self._now().newest if is_new else self._outcome.published
            lines = [
                f"Scope {name} is published: {counted(one.rows['raw_documents'], 'document', 'documents')}."
                for name, one in _scopes(now.settings).items()
                if one != scopes.get(name)
            ]
            if lines:
                self._outcome.notes["scopes"] = lines
            after = _collected(self._home)
            if after is not None and after != before and str(after):
                self._outcome.tidied.append(str(after))


def _scopes(settings: Settings) -> dict[str, Manifest]:
    """Return the snapshot that each scope has published; one that cannot be read is said to be pending."""
    found = dict[str, Manifest]()
    for name in settings.scopes:
        with suppress(LightRAGError):
            if one := scope_snapshot(settings, name):
                found[name] = one
    return found


def _collected(home: Home) -> Collection | str | None:
    """Return the last garbage collection; why it is not known, if its record is damaged."""
    try:
        return last_collection(home)
    except StoreError as error:
        return f"gc did nothing: {error}"


def _complete(outcome: Outcome, states: Pending, names: Sequence[str], *, backfill: bool) -> Outcome:
    for name in names:
        state = states.sources[name]
        if state.problem:
            outcome.failed.setdefault(name, state.problem)
        if state.outdated:
            outcome.outdated[name] = sum(state.outdated.values())
        of_passes = f"the facts of a pass alone; {'; '.join(state.passes.rejected)}" if state.passes.rejected else None
        if (reason := state.rejected or of_passes) and name not in outcome.failed:
            outcome.rejected[name] = reason
            outcome.transient |= state.transient
        if state.waits or state.backfill_waits:
            outcome.waiting.append(name)
        elif state.backfill and backfill:
            outcome.rejected.setdefault(name, f"of the backfill, {state.backfill}; the accepted tables stay")
        elif state.unfinished_backfill:
            outcome.notes[name] = [state.unfinished_backfill]
    outcome.rejected |= {f"scope {name}": why for name, why in states.scopes.items()}
    outcome.states = states
    return outcome
