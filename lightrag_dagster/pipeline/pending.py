"""Pending work: the one answer that `run`, sensors, schedules, `status` and the report share.

Decided from the files of each source and from records in the home, never from Dagster's event log. No table is read
(one is with `run --retry-failed`), nothing is chunked or merged: the cost is that of listing the sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from lightrag_dagster.core.in_time import map_in_time
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import BuilderLockedError, SettingsError, SourceError, StoreError
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.pipeline.absent import removed_sources
from lightrag_dagster.pipeline.again import failed_for_now, why_again
from lightrag_dagster.pipeline.inputs import next_publication, outdated
from lightrag_dagster.pipeline.listings import signature_now
from lightrag_dagster.pipeline.losses import (
    Loss,
    added_up,
    lost_of_source,
    snapshot_warnings,
    source_warning,
    unread_warning,
)
from lightrag_dagster.pipeline.outdated import outdated_rows
from lightrag_dagster.pipeline.passes import PassStates, pass_states, pass_warnings
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scopes import EMPTY, empty_scopes, pending_scopes, scope_warnings
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.withdrawals import withdrawal_warnings
from lightrag_dagster.stages.documents.connectors.origin import Incremental
from lightrag_dagster.stages.documents.connectors.web import Web
from lightrag_dagster.stages.documents.sources import Source, loose_files, misnamed_sources
from lightrag_dagster.storage.database.looks import KNOWLEDGE_BASE, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting, is_ingested
from lightrag_dagster.storage.manifests import GenerationInputs, Manifest
from lightrag_dagster.storage.snapshots.snapshots import without_graph
from lightrag_dagster.storage.tables.acceptance import Bounds, accept_all, judge, judge_pass
from lightrag_dagster.storage.tables.source_tables import SourceTables

PUBLISHED, WAITS_FOR_RELEASE = "published", "waits for release"

_LOOKED_AT_ONCE = 16  # sources; a look at one mostly waits for a disk, a bucket or a database


_NO_PASSES = PassStates()

GraphState = Literal["nothing is published", "not built yet", "left out", "built"]


@dataclass(frozen=True)
class SourceState:
    """Pending work of one source."""

    source: str
    ingest: str | None = None  # why the next run ingests it
    problem: str | None = None  # why it cannot be ingested
    waits: bool = False  # an ordinary extraction waits for batches
    backfill_waits: bool = False  # a backfill does
    rejected: str | None = None  # why its files are not taken, its tables not merged, or it is published though gone
    accept: bool = False  # its tables may be merged, and are not accepted yet
    merged: bool = False  # the newest snapshot has what was accepted
    unreleased: bool = False  # a rollback or a gate keeps that from readers
    documents: Mapping[str, int] = field(default_factory=dict)  # status → rows
    chunks: Mapping[str, int] = field(default_factory=dict)  # status → rows
    outdated: Mapping[str, int] = field(default_factory=dict)  # table → rows of another recipe
    backfill: str | None = None  # why one that was begun is not accepted yet
    backfill_runs: bool = False  # a process works at the source now
    losses: Sequence[Loss] = ()  # rows that failed, were skipped or cut
    warning: str | None = None  # why few of its names are in the graph although it was accepted
    unread: str | None = None  # why most of its files are not read
    passes: PassStates = _NO_PASSES
    transient: bool = False  # chunks failed that may succeed now

    @property
    def withheld(self) -> str | None:
        """The reason for which what is in the source now is not published; None if there is none."""
        return self.problem or self.rejected

    @property
    def busy(self) -> bool:
        """True if the next run has something to do for the source."""
        return bool(self.ingest or self.accept or self.waits or self.backfill_waits)

    @property
    def up_to_date(self) -> bool:
        """True if the newest snapshot has what is in the source now."""
        return self.merged and not self.withheld and not self.busy

    @property
    def unfinished_backfill(self) -> str | None:
        """A sentence about a backfill that was begun and is not accepted; None if there is none, or it waits."""
        if not self.backfill or self.backfill_waits:
            return None
        if self.backfill_runs:
            return f"A backfill of {self.source} runs now."
        resume = f"`lightrag-dagster backfill --source {self.source}` resumes it."
        return f"A backfill of {self.source} is not finished: {self.backfill}; {resume}"

    def __str__(self) -> str:
        """Return the state in a few words."""
        if self.problem:
            return f"cannot be ingested: {self.problem}"
        if self.rejected:
            return f"not accepted: {self.rejected}"
        if self.waits:
            return "waits for batches"
        if self.ingest:
            return f"pending: {self.ingest}"
        if self.backfill_waits:
            return "waits for batches of a backfill"
        if not self.merged:
            return "pending: merge"
        return WAITS_FOR_RELEASE if self.unreleased else PUBLISHED


@dataclass(frozen=True)
class Pending:
    """Pending work of a home."""

    sources: Mapping[str, SourceState] = field(default_factory=dict)
    publish: GenerationInputs | None = None  # of a merge, if there is one to do
    outdated: list[str] = field(default_factory=list)  # made by another recipe: summaries, vectors
    manifest: Manifest | None = None  # of the published snapshot
    graph: GraphState = "nothing is published"  # the graph database of that snapshot
    warnings: list[str] = field(default_factory=list)  # lines about what the newest snapshot lacks
    unreleased: str | None = None  # the newest snapshot while an older one is held
    stopped: Sequence[str] = ()  # faults for which gates hold it
    scopes: Mapping[str, str] = field(default_factory=dict)  # those that are not what the settings say, and why

    @property
    def losses(self) -> list[Loss]:
        """The rows of all sources that failed, were skipped or cut."""
        return added_up(loss for state in self.sources.values() for loss in state.losses)

    @property
    def unpublished(self) -> list[str]:
        """Sources of whose tables the newest snapshot has other versions than the current ones, or none."""
        return [name for name, one in self.sources.items() if one.withheld or not one.merged or one.passes.rejected]

    @property
    def rejected(self) -> dict[str, str]:
        """Sources whose files were not taken, or whose tables may not be merged, and why."""
        return {name: state.rejected for name, state in self.sources.items() if state.rejected}


def pending(situation: Situation) -> Pending:
    """Return the work of the next run on every configured source and on the knowledge base.

    Raises:
        EmbeddingError: the embedder of the newest snapshot cannot be opened any more.
        SourceError: the folder of sources cannot be listed; of a source that cannot, its state says so.
        StoreError: the home is damaged.
    """
    settings, home, manifest = situation.settings, situation.home, situation.published
    states = look_at_sources(situation)
    misnamed, tables = misnamed_sources(settings), SourceTables(home)
    of_absent = {name: tables.current_versions(name, situation.pass_names(name)) for name in situation.absent}
    absent = {
        name: SourceState(name, rejected=reason, losses=lost_of_source(name, of_absent[name]))
        for name, reason in situation.absent.items()
    }
    sources = absent | {name: SourceState(name, problem=reason) for name, reason in misnamed.items()} | states
    publish = None if situation.mistakes else next_publication(situation)
    warnings = snapshot_warnings(situation.recipes, manifest, states)
    said = manifest is not None and manifest.rows["chunks"] and not manifest.rows["entities"]  # of the whole graph
    warnings += [state.warning for state in sources.values() if state.warning and not (said and state.documents)]
    warnings += [state.unread for state in sources.values() if state.unread]
    warnings += [line for state in sources.values() for line in (*state.passes.rejected, *state.passes.others)]
    warnings += [*pass_warnings(situation), *scope_warnings(situation), *loose_warnings(settings)]
    warnings += [
        f"{name} is no longer a source: its {counted(rows, 'document leaves', 'documents leave')} with the next run"
        for name, rows in removed_sources(home, situation.newest, publish).items()
    ]
    due = pending_scopes(situation)
    warnings += [f"scope {name} {EMPTY}" for name in empty_scopes(situation, due)]
    return replace(_pending(situation, sources, publish, warnings), scopes=due)


def loose_warnings(settings: Settings) -> list[str]:
    """Return a warning of the files beside the folders of sources, if there are some."""
    if not (loose := loose_files(settings)):
        return []
    of = f"files beside the folders of {settings.sources} are in no source"
    return [f"{of}: {len(loose):,}, first {loose[0]}; move them into a folder"]


def published_part(situation: Situation) -> Pending:
    """Return what can be said of a home without its sources, as when these cannot be listed; raises StoreError."""
    return _pending(situation, {}, None, snapshot_warnings(situation.recipes, situation.published))


def _pending(
    situation: Situation, sources: Mapping[str, SourceState], publish: GenerationInputs | None, warnings: list[str]
) -> Pending:
    graph: GraphState = "built" if situation.published else "nothing is published"
    if without_graph(situation.home) is not None:
        graph = "not built yet" if situation.settings.builds_graph else "left out"
    newest, unreleased = situation.newest, situation.unreleased
    checked = newest.gates.warnings if newest else []  # of the snapshot that a person may have to decide about
    warnings = [*situation.mistakes, *checked, *warnings, *withdrawal_warnings(situation.settings.llm)]
    stopped = newest.gates.faults if newest and unreleased else []
    names = outdated(situation).names
    return Pending(sources, publish, names, situation.published, graph, warnings, unreleased, stopped)


def look_at_sources(situation: Situation, seconds: float | None = None) -> dict[str, SourceState]:
    """Return the pending work of each source, several listed at a time; sources that take too long are left out.

    Raises:
        SourceError: the folder of sources cannot be listed.
        StoreError: a record is damaged.
    """
    sources, waiting = situation.sources, sources_that_wait(situation.settings.llm, situation.home)
    stopped = _stopped_backfills(situation.home)

    def look_at(name: str) -> SourceState:
        return source_state(sources[name], situation, waiting.get(name, set()), stopped.get(name))

    states = dict(map_in_time(look_at, list(sources), _LOOKED_AT_ONCE, seconds))
    return {name: states[name] for name in sources if name in states}


def _stopped_backfills(home: Home) -> dict[str, str | None]:
    """Return source → the error that ended its last backfill."""
    with suppress(StoreError):  # of a damaged database, which ends `status` when all else is printed
        return {source: last.error for source, last in Looks(home.ledger).read(backfill=True).items()}
    return {}


def note_looks(home: Home, states: Iterable[SourceState], *, published: bool = False) -> None:
    """Note that a run found sources published as they are now, those that are, and perhaps all; raises StoreError."""
    found = [state.source for state in states if state.up_to_date]
    Looks(home.ledger).good([*found, KNOWLEDGE_BASE] if published else found)


_BETWEEN = "no process works at it, which was stopped or is between two steps in Dagster"
"""Why a backfill is not accepted yet, where no other reason is known."""


def source_state(
    source: Source, situation: Situation, waiting: AbstractSet[bool], stopped: str | None = None
) -> SourceState:
    """Return the pending work of one source, a backfill of which an error may have `stopped`; raises StoreError."""
    name, home, bounds = source.name, situation.home, Bounds.of(situation.settings)
    recipes = situation.recipes.of_source(name)
    record = situation.accepted.get(name)
    tables, candidate = SourceTables(home), SourceTables(home, candidate=True)
    current = tables.current_versions(name, recipes.pass_names(name))
    judged = judge(tables, name, bounds)
    newest, published = (
        one.inputs.sources.get(name) if one else None for one in (situation.newest, situation.published)
    )
    is_accepted = record is not None and record.tables == judged.tables
    ingest, problem, refused, rows = None, None, None, dict[str, int]()
    try:
        listing = signature_now(source, tables, recipes)
        ingest = why_again(name, listing, tables, recipes)
        refused = tables.refusal(name)
        refused = refused if refused and refused.files == listing else None
        rows = outdated_rows(current, recipes)
    except (SettingsError, SourceError) as error:
        problem = str(error)
    passes, backfill = pass_states(tables, name, situation), None
    if tables.has_candidate(name):
        made = judge(candidate, name, bounds)
        of_passes = pass_states(candidate, name, situation).rejected
        rejected = [made.reason] if made.whole and made.reason else of_passes
        backfill = next(iter(rejected), None) or stopped or _BETWEEN
    return SourceState(
        source=name,
        ingest=ingest,
        problem=problem,
        waits=False in waiting,
        backfill_waits=True in waiting,
        rejected=refused.reason if refused else judged.reason if judged.whole and not is_accepted else None,
        accept=(judged.accepted and not is_accepted) or passes.accept,
        merged=record is not None and newest == situation.merged(name),
        unreleased=situation.published is not None and newest != published,
        documents=current["raw_documents"].counts.get("status", {}) if "raw_documents" in current else {},
        chunks=current["extractions"].counts.get("status", {}) if "extractions" in current else {},
        outdated=rows,
        backfill=backfill,
        backfill_runs=backfill is not None and is_ingested(home, name),
        losses=lost_of_source(name, current),
        warning=source_warning(name, current, recipes),
        unread=unread_warning(name, current),
        passes=passes,
        transient=passes.transient or (not refused and any(map(failed_for_now, current.values()))),
    )


def why_ingest(source: Source, tables: SourceTables, recipes: Recipes) -> str | None:
    """Return the first table of a source that has to be made again, and the reason; None when there is nothing to do.

    Batches that it waits for are a reason. For the candidate tables of a backfill, rows of another recipe are one too,
    and so is a source of which an ordinary run reads only what changed, or may not see a change: a backfill reads all.

    Raises:
        SourceError: the source cannot be listed.
        StoreError: a record is damaged.
    """
    if tables.candidate and isinstance(source.origin, Incremental | Web) and not tables.has_candidate(source.name):
        return "raw_documents, a backfill reads all of it"
    if tables.candidate in sources_that_wait(recipes.settings.llm, tables.home, source.name).get(source.name, ()):
        return "extractions, answers are awaited"
    return why_again(source.name, signature_now(source, tables, recipes), tables, recipes.of_source(source.name))


def to_accept(situation: Situation) -> dict[str, dict[str, dict[str, str]]]:
    """Return the versions that may be merged and are not accepted, by source and pass, "" for its own tables.

    Raises as `accept_pending`.
    """
    tables = SourceTables(situation.home)
    bounds = Bounds.of(situation.settings)
    found = {}
    for name in situation.sources:
        judged, known = {"": judge(tables, name, bounds)}, dict[str, dict[str, str]]()
        if record := situation.accepted.get(name):
            known = {"": record.tables, **record.passes}
            judged |= {one: judge_pass(tables, name, one, bounds) for one in situation.recipes.pass_names(name)}
        if due := {of: one.tables for of, one in judged.items() if one.accepted and one.tables != known.get(of)}:
            found[name] = due
    return found


def accept_pending(settings: Settings) -> None:
    """Accept every source whose current tables may be merged, as after a limit on its failures was raised.

    One that another process is ingesting is left to that, which accepts it at its end.

    Raises:
        SourceError: the folder of sources cannot be listed.
        StoreError: a record is damaged or the disk refuses.
    """
    situation = Situation.looking(settings)
    for name in to_accept(situation):
        with suppress(BuilderLockedError), ingesting(situation.home, name, 0):
            accept_all(situation.home, name, Bounds.of(settings), situation.recipes.pass_names(name))
