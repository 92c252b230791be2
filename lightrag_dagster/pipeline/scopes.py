"""Scopes: walls between readers, each a home below the home.

Its source tables are the rows of the published snapshot that it shows. Merge, vectors, graph and publication run on
them as on any other tables, so nothing of a hidden document has a part in what they make. No chunk is asked about
again, and texts that are equal elsewhere are neither summarised nor embedded again.
"""

from collections.abc import Container, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial

from pydantic import Field

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import BuilderLockedError, LightRAGError, StoreError
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.pipeline.graph import build_graph, build_published_graph
from lightrag_dagster.pipeline.inputs import failed_summaries, next_publication, outdated
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.passes import names_no_source
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.retention import collect_after_publication
from lightrag_dagster.pipeline.scope_tables import GRAPHRAG, UNLABELLED, Versions, fill, made_from, to_fill
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.settings import RetentionSettings, Settings
from lightrag_dagster.spending.account import Account, of_scope
from lightrag_dagster.storage.database.looks import NEVER, Looks
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import is_todays, read, refresh
from lightrag_dagster.storage.locking import builder_lock, building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import VECTOR_TABLES, Manifest
from lightrag_dagster.storage.records import Record, read_record, write_record
from lightrag_dagster.storage.snapshots import gc
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot, without_graph
from lightrag_dagster.storage.tables.acceptance import accepted_sources
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.take_over import take_over

_NEXT, _LACKED = "the next run publishes it", "the settings lack it; the next run removes it"
EMPTY = "shows no document; correct its rule, or `access` of documents"
STILL_READ = "a reader has a replaced snapshot open, which may show what is hidden by now; end it, or let it ask again"

_ALONE = RetentionSettings(automatic=True, snapshots=1, grace_days=0)
"""The retention of scopes: an older snapshot may show what is hidden by now."""


@dataclass(frozen=True)
class ScopeState:
    """A scope that was published: its snapshot, None while it shows no document, and the dollars of calls for it.

    `problem` is why it stays as it was.
    """

    name: str
    snapshot: Manifest | None = None
    cost_usd: float = 0.0
    problem: str | None = None


def publish_scopes(situation: Situation, account: Account | None, *, backfill: bool = False) -> list[ScopeState]:
    """Publish each scope of the settings from the published snapshot, and remove others; one that fails stays alone.

    A `backfill` asks again for summaries that failed, and for those of another recipe.

    Raises BuilderLockedError and StoreError of the home itself.
    """
    settings, home = situation.settings, situation.home
    with building(home, STEP_SECONDS):
        _write_homes(home, _homes(home) | settings.scopes.keys())
        tidy_scopes(settings)
    return [_publish_noted(situation, name, account, backfill=backfill) for name in sorted(settings.scopes)]


def tidy_scopes(settings: Settings, *, dry_run: bool = False) -> list[str]:
    """Remove scopes that no setting has, and of others the snapshots that were replaced and no reader has open.

    Return a line for each, and for each of which they cannot be removed. A scope that another process is building stays
    as it is. Raises StoreError of the home itself.
    """
    home, found = Home.of(settings), list[str]()
    for name in sorted(_homes(home) | settings.scopes.keys()):
        try:
            if gone := _tidy(settings, name, dry_run=dry_run):
                found.append(f"{'would be removed' if dry_run else 'removed'}: {gone}")
        except BuilderLockedError:
            continue
        except LightRAGError as error:
            found.append(f"scope {name} is not tidied: {error}")
    return found


def _tidy(settings: Settings, name: str, *, dry_run: bool) -> str:
    """Remove what a scope does not show any more, and return it in words; "" for nothing. Raises StoreError."""
    home, below = Home.of(settings), Home.of(settings.within(name))
    below.files.refresh()
    if name in settings.scopes:
        if not is_todays(read(below)) or not gc.garbage_generations(below, gc.kept_snapshots(below, _ALONE)):
            return ""
        with building(below, 0) as lock:
            gc.collect_garbage(below, _ALONE, dry_run=dry_run, lock=lock)
        return f"what scope {name} had replaced"
    if not dry_run:
        with building(home, 0):
            empty(below)
            _write_homes(home, _homes(home) - {name})
    return f"scope {name}, which the settings lack"


def still_read(settings: Settings, name: str) -> bool:
    """Say whether a reader is known to have a replaced snapshot of a scope open; raises StoreError."""
    return gc.BEING_READ in gc.kept_snapshots(Home.of(settings.within(name)), _ALONE).values()


def pending_scopes(situation: Situation, *, backfill: bool = False) -> dict[str, str]:
    """Return the scopes that the next run, or a backfill, publishes or removes, and why they are not what they should.

    A fault of one is the reason of that alone. Raises StoreError of the home itself.
    """
    if situation.published is None:
        return {}
    due = {name: why for name in situation.settings.scopes if (why := _why_due(situation, name, backfill))}
    due |= dict.fromkeys(_homes(situation.home) - situation.settings.scopes.keys(), _LACKED)
    looks = Looks(situation.home.ledger).read() if due else {}
    return {name: looks.get(of_scope(name), NEVER).error or due[name] for name in sorted(due)}


def empty_scopes(situation: Situation, due: Container[str]) -> list[str]:
    """Return the scopes that are as the settings say and show no document, none of `due`; raises StoreError."""
    # Within a scope nothing is said of others.
    named = situation.settings.scopes if situation.published and not situation.home.scope else ()
    shown = {name: scope_snapshot(situation.settings, name) for name in named if name not in due}
    return [name for name, one in shown.items() if one is None or not one.rows["raw_documents"]]


def scope_warnings(situation: Situation) -> Iterator[str]:
    """Yield a line for each scope that names sources which are not there, and for what each does not show or lacks.

    Within a scope nothing is said of others.
    """
    there = {composed(name) for name in (*situation.sources, *situation.absent)}
    for name, rule in () if situation.home.scope else situation.settings.scopes.items():
        if gone := sorted(set(map(composed, rule.get("sources", ()))) - there):
            yield names_no_source(f"scope {name}", gone, situation)
        with suppress(StoreError):  # of which `pending_scopes` tells
            yield from _lacking(situation, name, asks="access" in rule)


def _lacking(situation: Situation, name: str, *, asks: bool) -> Iterator[str]:
    """Yield a line for documents without `access`, if a scope asks for it, mixed answers, and summaries that failed."""
    tables = SourceTables(Home.of(situation.settings.within(name)))
    newest = scope_snapshot(situation.settings, name)
    for line in failed_summaries(Generation(tables.home, newest.snapshot_id)) if newest else ():
        yield f"scope {name}: {line}"
    versions = [tables.current_versions(source) for source in _sources(situation)]
    if asks and (rows := sum(one["raw_documents"].new_sums.get(UNLABELLED, 0) for one in versions if one)):
        hidden = f"{counted(rows, 'document', 'documents')} without a value of `access`"
        yield f"scope {name} does not show {hidden}; give them one by named_sources.NAME.access"
    for one in (of["extractions"] for of in versions if "extractions" in of):
        if rows := one.count("recipe", GRAPHRAG):
            hidden = f"the names that GraphRAG found in {counted(rows, 'chunk', 'chunks')} of {one.source}"
            why = "since it described them by other texts too"
            again = f"`lightrag-dagster backfill --source {one.source}` asks about these chunks again"
            yield f"scope {name} does not show {hidden}, {why}; {again}"


def remove_damaged(settings: Settings, *, verify: bool) -> list[str]:
    """Remove the home of each scope whose published snapshot has missing or damaged files; say which they were.

    With `verify` all files are read. The next publication makes it again, of what is stored. Raises StoreError.
    """
    found = list[str]()
    for name in settings.scopes:
        home = Home.of(settings.within(name))
        if damage := _damage(home, verify=verify):
            with building(Home.of(settings)):
                empty(home)
            found += [f"scope {name}: {one}" for one in damage]
    return found


def _damage(home: Home, *, verify: bool) -> list[str]:
    """Return the damage of a scope; none of one that another version wrote, which is taken over before it is read."""
    home.files.refresh()
    try:
        todays = is_todays(read(home))
    except StoreError as error:
        return [str(error)]
    return [*map(str, find_published_damage(home, verify=verify))] if todays else []


def require_undamaged(settings: Settings) -> None:
    """Read all published files, of scopes too, on a disk; raises StoreError if one is not as it was published."""
    homes = [home for name in (None, *settings.scopes) if not (home := Home.of(settings.within(name))).bucket]
    if damage := [one for home in homes for one in find_published_damage(home, verify=True)]:
        more = f" and {len(damage) - 1} others" if damage[1:] else ""
        raise StoreError(f"{damage[0]}{more}; run `lightrag-dagster run --verify`")


def empty(home: Home) -> None:
    """Remove everything from the home of a scope, in any state, what readers open first."""
    with builder_lock(home) as lock, home.files.session(lock):
        for pointer in (home.published, home.newest, home.held, home.pins):
            pointer.unlink(missing_ok=True)
        if home.bucket:
            for source in {Home.source_of(folder) for folder in home.root.glob("tables/*/*")}:
                SourceTables(home).remove_records(source)
                home.accepted(source).unlink(missing_ok=True)
            gc.remove_unused(home, {}, dry_run=False, lock=lock)
            home.files.empty_other_caches()
        else:
            atomic.remove(home.root)  # with its lock, which another process that waits for it sees


def scope_snapshot(settings: Settings, name: str) -> Manifest | None:
    """Return the snapshot that a scope has published; raises StoreError."""
    home = Home.of(settings.within(name))
    refresh(home)
    return published_snapshot(home)


def scopes_below(situation: Situation) -> list[Situation]:
    """Return the situations of the scopes; raises StoreError."""
    return [Situation.looking(situation.settings.within(name)) for name in sorted(situation.settings.scopes)]


def _publish_noted(situation: Situation, name: str, account: Account | None, *, backfill: bool) -> ScopeState:
    looks = Looks(situation.home.ledger)
    try:
        with looks.noting(of_scope(name)):
            found = publish_scope(situation, name, account, backfill=backfill)
        looks.good([of_scope(name)])
    except LightRAGError as error:
        return ScopeState(name, problem=str(error))
    return found


def publish_scope(situation: Situation, name: str, account: Account | None, *, backfill: bool) -> ScopeState:
    """Publish a scope from the published snapshot, if anything of it changed, or a backfill changes something.

    Raises:
        LightRAGError: as `merge_sources`, `embed`, `build_graph` and `publish_newest`.
    """
    recipes = replace(situation.recipes, settings=situation.settings.within(name))
    settings, home = recipes.settings, Home.of(recipes.settings)
    with ExitStack() as locks:
        locks.enter_context(building(situation.home, STEP_SECONDS))
        take_over(home, STEP_SECONDS)
        locks.enter_context(building(home, STEP_SECONDS))
        fill(settings, situation.home, _sources(situation))
        below = Situation.looking(settings)
        again = backfill or summaries_again(situation, below)
        snapshot, cost = below.newest, 0.0
        if next_publication(below, backfill=again) is not None:
            # The gates are those of the home.
            ungated = replace(recipes, settings=settings.changed(publish="automatic", checks=None, retention=_ALONE))
            snapshot, used = publish_merged(ungated, account, backfill=again)
            cost = used.cost_usd
        if settings.builds_graph and without_graph(home):
            build_published_graph(home)
    return ScopeState(name, snapshot, cost)


def publish_merged(
    recipes: Recipes, account: Account | None, *, backfill: bool, database: bool = True, stores: Home | None = None
) -> tuple[Manifest, Usage]:
    """Merge what is accepted in a home and publish it; without `database`, or if it is large, the graph is to be built.

    Answers and vectors are those of the `stores` of another home, if one is given.

    Raises:
        LightRAGError: as `merge_sources`, `embed`, `build_graph` and `publish_newest`.
    """
    settings, home = recipes.settings, Home.of(recipes.settings)
    paid = stores or home
    open_model = partial(open_chat_model, settings.llm, paid, "summarise", account)
    used = merge_sources(recipes, open_model, backfill=backfill).usage
    for table in VECTOR_TABLES:
        used += embed(recipes, table, partial(open_embedder, home=paid, account=account)).usage
    build_graph(settings, database=database)
    manifest = publish_newest(settings)
    collect_after_publication(home, settings.retention)
    return manifest, used


def _why_due(situation: Situation, name: str, backfill: bool) -> str | None:
    """Return why a scope is not what the settings say; None if it is."""
    try:
        return _NEXT if _is_due(situation, name, backfill) else None
    except LightRAGError as error:
        return str(error)


def _is_due(situation: Situation, name: str, backfill: bool) -> bool:
    settings = situation.settings.within(name)
    home = Home.of(settings)
    sources = to_fill(settings, situation.home, _sources(situation))
    home.files.refresh()
    if not is_todays(read(home)) or accepted_sources(home) - sources.keys():
        return True
    if any(made_from(home, source) != given for source, given in sources.items()):
        return True
    below = Situation.looking(settings)
    unmerged = next_publication(below, backfill=backfill or summaries_again(situation, below)) is not None
    return unmerged or (settings.builds_graph and without_graph(home) is not None)


def summaries_again(situation: Situation, below: Situation) -> bool:
    """Say whether a scope has outdated summaries and the home has none any more."""
    return outdated(below).summaries > 0 and not outdated(situation).summaries


def _sources(situation: Situation) -> Versions:
    return situation.published.inputs.sources if situation.published else {}


class _Scopes(Record):
    """`scopes.json`."""

    names: list[str] = Field(default=[])


def _homes(home: Home) -> set[str]:
    """Return the scopes that have a home, or are to get one."""
    return set((read_record(home.scopes, _Scopes) or _Scopes()).names)


def _write_homes(home: Home, names: set[str]) -> None:
    if names != _homes(home):
        write_record(home.scopes, _Scopes(names=sorted(names)))
