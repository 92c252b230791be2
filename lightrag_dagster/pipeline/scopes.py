"""Scopes: walls between readers, each a home below the home.

Its source tables are the rows of the published snapshot that it shows. Merge, vectors, graph and publication run on
them as on any other tables, so nothing of a hidden document has a part in what they make. No chunk is asked about
again, and texts that are equal elsewhere are neither summarised nor embedded again.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pydantic import Field

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import LightRAGError, StoreError
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.pipeline.allowed import Shown, allowed
from lightrag_dagster.pipeline.cross_shard import sql
from lightrag_dagster.pipeline.graph import build_graph, build_published_graph
from lightrag_dagster.pipeline.merge import merge_sources, next_publication, outdated
from lightrag_dagster.pipeline.publish import publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.retention import collect_after_publication
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.settings import ScopeRule, Settings
from lightrag_dagster.spending.account import Account, of_scope
from lightrag_dagster.storage.database.looks import NEVER, Looks
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import VECTOR_TABLES, Manifest
from lightrag_dagster.storage.records import Record, read_record
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from lightrag_dagster.storage.tables.acceptance import accepted_sources, remove_gone_sources
from lightrag_dagster.storage.tables.shards import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted

_MADE_FROM = "published"
_UNLABELLED = "without_access"
_NEXT = "the next run publishes it"

Versions = Mapping[str, Mapping[str, str]]
"""Source → table → version."""


@dataclass(frozen=True)
class ScopeState:
    """A scope that was published: its snapshot, None while it shows no document, and the dollars of calls for it.

    `problem` is why it stays as it was.
    """

    name: str
    snapshot: Manifest | None = None
    cost_usd: float = 0.0
    problem: str | None = None


def published_scopes(situation: Situation, account: Account | None) -> list[ScopeState]:
    """Publish each scope of the settings from the published snapshot, and remove others; one that fails stays alone.

    Raises BuilderLockedError and StoreError of the home itself.
    """
    settings, home = situation.settings, situation.home
    with building(home, STEP_SECONDS):
        known = _homes(home)
        _write_homes(home, known | settings.scopes.keys())
        for name in known - settings.scopes.keys():
            gone = Home.of(settings.within(name))
            with building(gone, STEP_SECONDS):
                gone.files.remove_folder(gone.root)
        _write_homes(home, {*settings.scopes})
    return [_published(situation, name, account) for name in sorted(settings.scopes)]


def pending_scopes(situation: Situation) -> dict[str, str]:
    """Return the scopes that the next run publishes or removes, and why they are not yet what the settings say.

    A fault of one is the reason of that alone. Raises StoreError of the home itself.
    """
    if situation.published is None:
        return {}
    due = {name: why for name in situation.settings.scopes if (why := _why_due(situation, name))}
    due |= dict.fromkeys(_homes(situation.home) - situation.settings.scopes.keys(), _NEXT)
    looks = Looks(situation.home.ledger).read() if due else {}
    return {name: looks.get(of_scope(name), NEVER).error or due[name] for name in sorted(due)}


def unlabelled(situation: Situation) -> dict[str, int]:
    """Return the scopes that ask for `access`, and the number of documents with text that have no value of it."""
    found = dict[str, int]()
    for name, rule in situation.settings.scopes.items():
        tables = SourceTables(Home.of(situation.settings.within(name)))
        with suppress(StoreError):  # of which `pending_scopes` tells
            versions = [tables.current("raw_documents", source) for source in _sources(situation) if "access" in rule]
            if count := sum(one.new_sums.get(_UNLABELLED, 0) for one in versions if one):
                found[name] = count
    return found


def remove_damaged(settings: Settings, *, verify: bool) -> list[str]:
    """Remove the home of each scope whose published snapshot has missing or damaged files; say which they were.

    With `verify` all files are read. The next publication makes it again, of what is stored. Raises StoreError.
    """
    found = list[str]()
    for name in settings.scopes:
        home = Home.of(settings.within(name))
        if damage := [f"scope {name}: {one}" for one in find_published_damage(home, verify=verify)]:
            with building(Home.of(settings)), building(home):
                home.files.remove_folder(home.root)
            found += damage
    return found


def scopes_below(situation: Situation) -> list[Situation]:
    """Return the situations of the scopes; raises StoreError."""
    return [Situation.looking(situation.settings.within(name)) for name in sorted(situation.settings.scopes)]


def _published(situation: Situation, name: str, account: Account | None) -> ScopeState:
    looks = Looks(situation.home.ledger)
    try:
        with looks.noting(of_scope(name)):
            found = publish_scope(situation, name, account)
        looks.good([of_scope(name)])
    except LightRAGError as error:
        return ScopeState(name, problem=str(error))
    return found


def publish_scope(situation: Situation, name: str, account: Account | None) -> ScopeState:
    """Publish a scope from the published snapshot, if anything of it changed.

    Raises:
        LightRAGError: as `merge_sources`, `embed`, `build_graph` and `publish_newest`.
    """
    recipes = replace(situation.recipes, settings=situation.settings.within(name))
    settings, home = recipes.settings, Home.of(recipes.settings)
    with building(situation.home, STEP_SECONDS), building(home, STEP_SECONDS):
        fill(settings, situation.home, _sources(situation))
        below = Situation.looking(settings)
        again = _summaries_again(situation, below)
        if next_publication(below, backfill=again) is None:
            return ScopeState(name, below.newest)
        ungated = replace(recipes, settings=settings.changed(publish="automatic", checks=None))  # as the home was
        snapshot, used = publish_merged(ungated, account, backfill=again)
        build_published_graph(home)
    return ScopeState(name, snapshot, used.cost_usd)


def publish_merged(
    recipes: Recipes, account: Account | None, *, backfill: bool, database: bool = True
) -> tuple[Manifest, Usage]:
    """Merge what is accepted in a home and publish it; without `database`, or if it is large, the graph is to be built.

    Raises:
        LightRAGError: as `merge_sources`, `embed`, `build_graph` and `publish_newest`.
    """
    settings, home = recipes.settings, Home.of(recipes.settings)
    open_model = partial(open_chat_model, settings.llm, home, "summarise", account)
    used = merge_sources(recipes, open_model, backfill=backfill).usage
    for table in VECTOR_TABLES:
        used += embed(recipes, table, partial(open_embedder, home=home, account=account)).usage
    build_graph(settings, database=database)
    manifest = publish_newest(settings)
    collect_after_publication(home, settings.retention)
    return manifest, used


def _why_due(situation: Situation, name: str) -> str | None:
    """Return why a scope is not what the settings say; None if it is."""
    try:
        return _NEXT if _is_due(situation, name) else None
    except LightRAGError as error:
        return str(error)


def _is_due(situation: Situation, name: str) -> bool:
    settings = situation.settings.within(name)
    home, sources = Home.of(settings), _to_fill(settings, _sources(situation))
    if any(_made_from(home, source) != made_from for source, made_from in sources.items()):
        return True
    if accepted_sources(home) - sources.keys():
        return True
    below = Situation.looking(settings)
    return next_publication(below, backfill=_summaries_again(situation, below)) is not None


def _summaries_again(situation: Situation, below: Situation) -> bool:
    """Say whether a scope has outdated summaries and the home has none any more."""
    return outdated(below).summaries > 0 and not outdated(situation).summaries


def _sources(situation: Situation) -> Versions:
    return situation.published.inputs.sources if situation.published else {}


def fill(settings: Settings, above: Home, sources: Versions) -> None:
    """Give the scope of some settings the rows of each source that it shows; what it was given before stays.

    `sources` are versions of tables in the home `above` it. Raises StoreError.
    """
    home, due = Home.of(settings), _to_fill(settings, sources)
    remove_gone_sources(home, due)
    for source, made_from in due.items():
        if _made_from(home, source) != made_from:
            filling = _Filling(SourceTables(above), SourceTables(home), source, made_from)
            filling.all(sources[source], settings.scopes[home.scope])


def _to_fill(settings: Settings, sources: Versions) -> dict[str, str]:
    """Return the sources that a scope may show, each with a hash of what it is given of it."""
    rule = settings.scopes[settings.scope]
    return {
        source: digest(sql("allowed"), versions, {name: sorted(values) for name, values in rule.items()})
        for source, versions in sources.items()
        if source != CURATION and composed(source) in rule.get("sources", (composed(source),))
    }


def _made_from(home: Home, source: str) -> str | None:
    """Return the hash of what a source was filled from; None if that did not end."""
    current = SourceTables(home).current("raw_documents", source)
    ended = current is not None and (current.rows == 0 or home.accepted(source).exists())
    return current.inputs.get(_MADE_FROM) if current and ended else None


@dataclass(frozen=True)
class _Filling:
    """The filling of a source of a scope, from its tables above; `made_from` is the hash of what is given."""

    above: SourceTables
    tables: SourceTables
    source: str
    made_from: str

    def all(self, versions: Mapping[str, str], rule: ScopeRule) -> None:
        """Store the allowed rows of all tables, and accept them if there is a document; that ends it."""
        home, source = self.tables.home, self.source
        shown = allowed(self.above.open("raw_documents", source, versions["raw_documents"]), rule)
        with ingesting(home, source, STEP_SECONDS):
            home.accepted(source).unlink(missing_ok=True)
            shown = shown._replace(chunks=self._copy("chunks", versions["chunks"], shown))
            for table in (*sorted(versions.keys() - {"raw_documents", "chunks"}), "raw_documents"):
                self._copy(table, versions[table], shown)
            stored = {table: self.tables.require(table, source).version for table in versions}
            if len(shown.documents):
                atomic.write_text(home.accepted(source), _record(source, stored).model_dump_json(indent=2))

    def _copy(self, table: str, version: str, shown: Shown) -> pa.Array:
        """Store the allowed rows of one version of a table, shard by shard; return the ids of the chunks in them."""
        chunks, stored = [pa.array([], pa.string())], []
        for shard in shards(self.above.home.files.count_rows(self.above.open(table, self.source, version))):
            rows = shown.rows(table, self.above.read_shard(table, self.source, version, shard))
            stored.append(self.tables.store(table, self.source, rows))
            if table == "chunks":
                chunks.append(rows["chunk_id"].unique())
        made_from, sums = {_MADE_FROM: self.made_from}, {_UNLABELLED: shown.unlabelled}
        self.tables.record(table, self.source, stored, inputs=made_from, recipe="scope", new_sums=sums)
        return pa.concat_arrays(chunks)


def _record(source: str, versions: Mapping[str, str]) -> Accepted:
    tables, passes = dict[str, str](), dict[str, dict[str, str]]()
    for table, version in sorted(versions.items()):
        kind, _, name = table.partition("@")
        (passes.setdefault(name, {}) if name else tables)[kind] = version
    return Accepted(source=source, tables=tables, passes=passes)


class _Scopes(Record):
    """`scopes.json`."""

    names: list[str] = Field(default=[])


def _homes(home: Home) -> set[str]:
    """Return the scopes that have a home, or are to get one."""
    return set((read_record(home.scopes, _Scopes) or _Scopes()).names)


def _write_homes(home: Home, names: Iterable[str]) -> None:
    found = _Scopes(names=sorted(names))
    if names != _homes(home):
        atomic.write_text(home.scopes, found.model_dump_json())
