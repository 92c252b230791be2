"""`status --check`: what a person should look at, a line each, for monitoring."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console

from lightrag_dagster.cli.status import damage_of, only_asks, taken_over
from lightrag_dagster.core.text.counted import lasting
from lightrag_dagster.errors import cause_of
from lightrag_dagster.orchestration.daemon import silent_daemon
from lightrag_dagster.orchestration.upstream import refresh_upstream
from lightrag_dagster.pipeline.pending import Pending, pending, published_part
from lightrag_dagster.pipeline.scopes import EMPTY, STILL_READ, empty_scopes, still_read
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.database.looks import DAEMON, KNOWLEDGE_BASE, NEVER, Attempts, Looks
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.repair import check_databases

_UNTRIED = "raw_documents, never made"


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
    situation = Situation.looking(settings)
    states = published_part(situation) if only_asks(settings) else pending(situation)
    watch = _Watch(states, Looks(home.ledger).read(), time.time())
    scopes = [f"scope {name} waits: {why}" for name, why in states.scopes.items()]
    scopes += [f"scope {name} {EMPTY}" for name in empty_scopes(situation, states.scopes)]
    sound = () if settings.scope else settings.scopes.keys() - states.scopes.keys()
    scopes += [f"scope {name}: {STILL_READ}" for name in sorted(sound) if still_read(settings, name)]
    lines = [*watch.withheld(), *scopes, *watch.failing(), *watch.held(), *damage_of(home)]
    if states.manifest is None:
        lines += [f"nothing is published in {home.name}", *taken_over(home)]
    if max_age is not None:
        lines += watch.old(max_age)
    if problem := silent_daemon(settings, watch.looks.get(DAEMON, NEVER).good_at, watch.now):
        lines.append(problem)
    for line in lines:
        console.print(line)
    return 1 if lines else 0


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
            named = ", ".join(name or "the knowledge base" for name in names)
            waits = "waits" if len(names) == 1 else "wait"
            yield f"{named} {waits}, since the last run failed {self._ago(last.failed_at)}: {last.error}"

    def held(self) -> Iterator[str]:
        """Yield a line if a newer snapshot than the published one waits."""
        if self.states.unreleased and self.states.manifest:
            held = self.states.manifest.snapshot_id
            why = "".join(f"; {fault}" for fault in self.states.stopped)
            yield f"{self.states.unreleased} waits for `lightrag-dagster release`; {held} is held{why}"

    def old(self, max_age: float) -> Iterator[str]:
        """Yield a line for each other source that was last what it should be too long ago; new ones may wait."""
        manifest, told = self.states.manifest, {*self._failing()}
        for name in self.states.sources or (manifest.inputs.sources if manifest else ()):
            state, good_at = self.states.sources.get(name), self.looks.get(name, NEVER).good_at
            if name in told or (state and (state.withheld or state.ingest == _UNTRIED)):
                continue
            if good_at is None:
                yield f"no run has looked at {name} yet"
            elif self.now - good_at > max_age:
                then = self._ago(good_at)
                published = state is None or state.up_to_date
                yield (
                    f"the last good look of a run at {name} was {then}"
                    if published
                    else f"{name} was last what it should be {then}; it is {state}"
                )

    def _failing(self) -> list[str]:
        """Return the sources that wait after a failed attempt, and KNOWLEDGE_BASE if it does."""
        names = [
            name
            for name, state in self.states.sources.items()
            if self.looks.get(name, NEVER).error and not (state.withheld or state.waiting or state.up_to_date)
        ]
        work = self.states.publish is not None or any(state.busy for state in self.states.sources.values())
        return [*names, KNOWLEDGE_BASE] if work and self.looks.get(KNOWLEDGE_BASE, NEVER).error else names

    def _ago(self, then: float | None) -> str:
        return f"{lasting(self.now - (then or self.now))} ago"
