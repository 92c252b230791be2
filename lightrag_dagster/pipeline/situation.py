"""The situation of a home: what each step and command reads once, and hands down to all that it calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.core.text.composed import composed, stored_name
from lightrag_dagster.curation.rules import CURATION, InForce, in_force
from lightrag_dagster.errors import DecisionError, LightRAGError
from lightrag_dagster.fact_schemas import FACTS, OF_COLUMNS
from lightrag_dagster.pipeline.absent import absent_sources, merged_before
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.schemas import ENTITY_MENTIONS, RELATION_MENTIONS
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import Source, chosen_sources, find_sources
from lightrag_dagster.storage.duckdb import in_memory, view_files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locks.base import Lock, require_held
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.snapshots import newest_snapshot, published_snapshot, required
from lightrag_dagster.storage.tables.acceptance import accepted, accepted_sources
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted

Read = TypeVar("Read")


@dataclass(frozen=True)
class Situation:
    """The sources, decisions, accepted versions and snapshots of a home at one moment, and today's recipes.

    It is read without a lock by what looks, and under the builder's by what builds; none is kept across the end of an
    ingestion or of a lock. `newest` is the snapshot that was built last, `published` the one that readers open, an
    older one while a rollback holds it; a scope has the one `above` that it is made from. Sources that cannot be listed
    and decisions that cannot all hold are an error of those that ask for them.
    """

    home: Home
    recipes: Recipes
    newest: Manifest | None
    published: Manifest | None
    _sources: Mapping[str, Source] | LightRAGError
    _absent: Mapping[str, str] | LightRAGError
    _accepted: Mapping[str, Accepted] | LightRAGError
    _decided: InForce | LightRAGError
    above: Manifest | None = None
    mistakes: Sequence[str] = ()

    @classmethod
    def looking(cls, settings: Settings, *, refreshed: bool = False, leniently: bool = False) -> Self:
        """Read the situation without a lock; of a bucket, take over its records, unless that was done just now.

        A command that only shows it reads `leniently`: schemas and decisions with a mistake are unknown, and `mistakes`
        says why.

        Raises:
            SettingsError: a prompt file cannot be used, or a schema.
            StoreError: the home is damaged, or has another layout.
        """
        home = Home.of(settings)
        if not refreshed:
            refresh(home)
        found = cls._read(home, Recipes.of(settings, leniently=leniently))
        mistakes = [found.recipes.mistake] if found.recipes.mistake else []
        if leniently and isinstance(found._decided, DecisionError):
            mistakes = [*mistakes, str(found._decided)]
            found = replace(found, _decided=InForce())
        return replace(found, mistakes=() if home.scope else mistakes)  # which may name what a scope hides

    @classmethod
    def building(cls, recipes: Recipes, lock: Lock) -> Self:
        """Read the situation under the builder's lock; raises StoreError, and BuilderLockedError if it was lost."""
        require_held(lock)
        return cls._read(Home.of(recipes.settings), recipes)

    @classmethod
    def _read(cls, home: Home, recipes: Recipes) -> Self:
        settings, newest = recipes.settings, newest_snapshot(home)
        if home.scope:
            return cls._of_scope(home, recipes, newest)
        sources = _or_error(lambda: find_sources(settings))
        absent = _or_error(lambda: absent_sources(settings, home, _given(sources), newest))
        records = _or_error(lambda: _accepted_of(home, [*_given(sources), *_given(absent)]))
        decided = _or_error(lambda: in_force(settings))
        return cls(home, recipes, newest, published_snapshot(home), sources, absent, records, decided)

    @classmethod
    def _of_scope(cls, home: Home, recipes: Recipes, newest: Manifest | None) -> Self:
        """Read that of a scope: what it was given of the tables of sources; of none is more known here."""
        settings, given = recipes.settings, dict.fromkeys(accepted_sources(home), "")
        records = _or_error(lambda: _accepted_of(home, list(given)))
        decided = _or_error(lambda: _within(in_force(settings.within(None)), home, settings, _given(records)))
        above = published_snapshot(home.parent) if home.parent else None
        return cls(home, recipes, newest, published_snapshot(home), {}, given, records, decided, above)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.recipes.settings

    @property
    def sources(self) -> Mapping[str, Source]:
        """The configured sources by name; raises SourceError if they cannot be listed."""
        return _given(self._sources)

    @property
    def absent(self) -> Mapping[str, str]:
        """The sources that are merged and no longer there, and why they stay; raises as `sources`, and StoreError."""
        return _given(self._absent)

    @property
    def accepted(self) -> Mapping[str, Accepted]:
        """The accepted tables of sources, and of what is absent; raises as `absent`."""
        return _given(self._accepted)

    def merged(self, source: str) -> dict[str, str]:
        """Return the accepted versions of a source that a merge reads, with those of passes."""
        return self.accepted[source].merged(self.pass_names(source))

    def pass_names(self, source: str) -> list[str]:
        """Return the names of the passes of a source, and of those whose accepted facts of it stay.

        A schema that names a source which is not there may be misspelt: it takes its facts from no source. Neither does
        one with a mistake, nor an entry of the settings that is gone with its source. A scope has what it was given.
        """
        todays, record = self.recipes.pass_names(source), self.accepted.get(source)
        known = record.passes.keys() - {*todays} if record else set()
        if not (self.recipes.mistake or self.home.scope):
            known &= {*self.misnaming, *([OF_COLUMNS] if source in self.absent else [])}
        return [*todays, *sorted(known)]

    @cached_property
    def misnaming(self) -> Mapping[str, list[str]]:
        """The passes that name sources which are not there, with these names, none in a scope; raises as `absent`."""
        there = {composed(name) for name in (*self.sources, *self.absent)}
        passes = {} if self.home.scope else self.recipes.passes  # a scope knows only what it shows
        unknown = {name: sorted({*one.sources} - there) for name, one in passes.items()}
        return {name: names for name, names in unknown.items() if names}

    @property
    def decided(self) -> InForce:
        """The decisions in force; raises DecisionError if they cannot be read, or cannot all hold."""
        return _given(self._decided)

    @property
    def unreleased(self) -> str | None:
        """The id of the newest snapshot while another is held."""
        return self.newest.snapshot_id if self.newest and self.newest != self.published else None

    def require_published(self) -> Manifest:
        """Return the snapshot that readers open; raises NoSnapshotError before the first publication."""
        return required(self.home, self.published)

    def chosen(self, names: Sequence[str]) -> tuple[list[Source], list[str]]:
        """Return the sources of these names, or all when none is named, and the names of absent ones.

        If none is there any more, those that are merged are withheld or removed like others that are gone.

        Raises:
            SourceError: as `chosen_sources`.
            StoreError: the home is damaged.
        """
        gone, known = merged_before(self.home, self.sources, self.newest), self.sources
        if gone and not names and not known:
            return [], []
        if names and self.newest:  # a run that was killed may have removed them
            gone |= self.newest.inputs.sources.keys() - known.keys() - {CURATION}
        away = [name for name in names if stored_name(name, known) not in known and stored_name(name, gone) in gone]
        there = [name for name in names if name not in away]
        sources = [] if away and not there else chosen_sources(self.settings, there, known)
        return sources, [stored_name(name, gone) for name in away]


def _accepted_of(home: Home, sources: Sequence[str]) -> dict[str, Accepted]:
    return {name: record for name in sorted(sources) if (record := accepted(home, name))}


def _or_error(read: Callable[[], Read]) -> Read | LightRAGError:
    """Return what is read, or the error, which those get that ask for it."""
    try:
        return read()
    except LightRAGError as error:
        return error


def _given(found: Read | LightRAGError) -> Read:
    if isinstance(found, LightRAGError):
        raise found
    return found


_NAMING = {
    "entity_mentions": (ENTITY_MENTIONS, ("name", "type")),
    "relation_mentions": (RELATION_MENTIONS, ("src", "tgt")),
    "facts": (FACTS, ("subject", "object", "subject_type", "object_type")),
}


def _within(decided: InForce, home: Home, settings: Settings, records: Mapping[str, Accepted]) -> InForce:
    """Return the decisions that act in a scope; `records` are the accepted tables in its home.

    Raises:
        DecisionError: they cannot all hold without the others.
        StoreError: a table is missing or damaged.
    """
    if not decided.decisions:
        return decided
    names, types = _named(home, records)
    return decided.within(home.scope, names, types | {settings.merging.types.map.get(one, one) for one in types})


def _named(home: Home, records: Mapping[str, Accepted]) -> tuple[set[str], set[str]]:
    """Return the ids of all names that these tables have, and all types of entities, as the merge reads them."""
    tables, names, types = SourceTables(home), set[str](), set[str]()
    with in_memory() as connection:
        for kind, (schema, columns) in _NAMING.items():
            versions = ((source, record.merged(record.passes)) for source, record in records.items())
            paths = [path for source, used in versions for path in tables.paths_of_kind(kind, source, used)]
            view_files(connection, "naming", home.files.open(paths), schema)
            for column in columns:
                rows = connection.execute(f"SELECT DISTINCT {column} FROM naming WHERE {column} IS NOT NULL")
                found = types if column.endswith("type") else names
                found.update(one for (one,) in rows.fetchall())
    # Each name once: of 100,000 this takes half of the time.
    return {entity_id(name) for name in names}, {one.lower().replace(" ", "") for one in types}
