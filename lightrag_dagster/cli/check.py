"""`status --check`: what a person should look at, a line each, for monitoring."""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rich import filesize
from rich.console import Console

from lightrag_dagster.core.text.counted import lasting, some_of
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import StoreError, cause_of
from lightrag_dagster.orchestration.daemon import silent_daemon
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.pending import Pending, pending, published_part
from lightrag_dagster.pipeline.scopes import EMPTY, STILL_READ, empty_scopes, still_read
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.ledger import lost_stores
from lightrag_dagster.storage.database.looks import DAEMON, KNOWLEDGE_BASE, NEVER, Attempts, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.purging import unfinished_purge
from lightrag_dagster.storage.snapshots.generations import LEAST_ROOM_OF_GRAPH
from lightrag_dagster.storage.snapshots.repair import check_databases, find_published_damage
from lightrag_dagster.storage.snapshots.verify import published_bytes

_UNTRIED = "raw_documents, never made"
_PLACES = {KNOWLEDGE_BASE: "the knowledge base"}


def check_status(console: Console, max_age: float | None) -> int:
    """Print a line for each thing that a person should look at; return 1, or 0 if there is none.

    Work that was not tried yet is left out, since the next run does it; with a `max_age` in seconds, a source is named
    that no run has found, or made, what it should be for longer.

    Raises:
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    settings = load_settings()
    refresh_upstream(settings)
    home = Home.of(settings)
    check_databases(home)
    situation = Situation.looking(settings, leniently=True)
    states = published_part(situation) if settings.only_asks else pending(situation)
    watch = _Watch(states, Looks(home.ledger).read(), time.time())
    scopes = [f"scope {name} waits: {why}" for name, why in states.scopes.items()]
    scopes += [f"scope {name} {EMPTY}" for name in empty_scopes(situation, states.scopes)]
    sound = () if settings.scope else settings.scopes.keys() - states.scopes.keys()
    scopes += [f"scope {name}: {STILL_READ}" for name in sorted(sound) if still_read(settings, name)]
    lines = [*situation.mistakes, *watch.withheld(), *scopes, *watch.failing(), *watch.held()]
    lines += [*damage_of(home), *unfinished_purge(home), *lost_stores(home), *_too_little_room(home, states.manifest)]
    if states.manifest is None:
        lines.append(f"nothing is published in {home.name}")
    if max_age is not None:
        lines += watch.old(max_age)
    if problem := silent_daemon(settings, watch.looks.get(DAEMON, NEVER).good_at, watch.now):
        lines.append(problem)
    for line in lines:
        console.print(line)
    return 1 if lines else 0


def damage_of(home: Home) -> list[str]:
    """Return a line for each file of the published snapshot that is missing or has another size."""
    return [f"{damage}; `lightrag-dagster run` builds it again" for damage in find_published_damage(home)]


def failing(home: Home, states: Pending) -> list[str]:
    """Return a line for each cause of attempts that failed, and were not made good since."""
    with suppress(StoreError):  # of a damaged database, which ends `status` when all else is printed
        return [*_Watch(states, Looks(home.ledger).read(), time.time()).failing()]
    return []


def _too_little_room(home: Home, published: Manifest | None) -> Iterator[str]:
    """Yield a line if the disk of a home has less room than its snapshot takes; a full one keeps no reason of a run."""
    if home.bucket or not published:
        return
    with suppress(StoreError):  # of a damaged record, which has a line
        needed = published_bytes(home, published.snapshot_id) + LEAST_ROOM_OF_GRAPH
        if (free := shutil.disk_usage(home.root).free) < needed:
            left = filesize.decimal(free)
            taken = f"the next snapshot takes about {filesize.decimal(needed)}"
            yield f"{home.name} has {left} left on its disk, and {taken}; make room, as `lightrag-dagster gc` does"


@dataclass(frozen=True)
class _Watch:
    """The states of the sources, the last attempts at them, and the time in seconds since 1970."""

    states: Pending
    looks: Mapping[str, Attempts]
    now: float

    def withheld(self) -> Iterator[str]:
        """Yield a line for each source that is withheld or mostly skipped, and each pass that lacks something of it."""
        for name, state in self.states.sources.items():
            if state.withheld:
                yield f"{name} is withheld: {state.withheld}"
            yield from (line for line in (state.unread, *state.passes.rejected, *state.passes.others) if line)

    def failing(self) -> Iterator[str]:
        """Yield a line for each cause of attempts that failed, and were not made good since."""
        by_cause: dict[str, list[str]] = {}
        for name in self._failing():
            by_cause.setdefault(cause_of(self.looks[name].error or ""), []).append(name)
        for names in by_cause.values():
            last = max((self.looks[name] for name in names), key=lambda look: look.failed_at or 0.0)
            named = some_of([_PLACES.get(name, name) for name in names])
            waits = "waits" if len(names) == 1 else "wait"
            yield f"{named} {waits}, since the last run failed {self._ago(last.failed_at)}: {last.error}"

    def held(self) -> Iterator[str]:
        """Yield a line if a newer snapshot than the published one waits."""
        if self.states.unreleased and self.states.manifest:
            held = self.states.manifest.snapshot_id
            why = "".join(f"; {fault}" for fault in self.states.stopped)
            yield f"{self.states.unreleased} waits for `lightrag-dagster release`; {held} is held{why}"

    def old(self, max_age: float) -> Iterator[str]:
        """Yield a line for each other source that was last what it should be too long ago; new ones may wait.

        So with KNOWLEDGE_BASE while there is something to merge: what ends a merge may leave no note.
        """
        told = {*self._failing()}
        for name in (*self._sources(), *([KNOWLEDGE_BASE] if self.states.publish else ())):
            state = self.states.sources.get(name)
            good_at = self.looks.get(name, NEVER).good_at
            if name in told or (state and (state.withheld or state.ingest == _UNTRIED)):
                continue
            place, behind = _PLACES.get(name, name), state and not state.up_to_date
            if good_at is None:
                yield f"no run has looked at {place} yet"
            elif self.now - good_at <= max_age:
                continue
            elif behind or name == KNOWLEDGE_BASE:
                yield f"{place} was last what it should be {self._ago(good_at)}; it is {state or 'pending: merge'}"
            else:
                yield f"the last good look of a run at {place} was {self._ago(good_at)}"

    def _sources(self) -> Iterable[str]:
        """Return the sources that are known; of a machine that only asks, those of the published snapshot."""
        manifest = self.states.manifest
        return self.states.sources or sorted(manifest.inputs.sources.keys() - {CURATION} if manifest else ())

    def _failing(self) -> list[str]:
        """Return the sources that wait after a failed attempt, and KNOWLEDGE_BASE if it does."""
        names = [
            name
            for name, state in self.states.sources.items()
            if self.looks.get(name, NEVER).error and not (state.withheld or state.up_to_date)
        ]
        work = self.states.publish is not None or any(state.busy for state in self.states.sources.values())
        return [*names, KNOWLEDGE_BASE] if work and self.looks.get(KNOWLEDGE_BASE, NEVER).error else names

    def _ago(self, then: float | None) -> str:
        return f"{lasting(self.now - (then or self.now))} ago"
