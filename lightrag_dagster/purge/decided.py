"""Decisions in a purge: those in force are people's work, so that it refuses while they may be about what is gone."""

from collections.abc import Iterator

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.curation.rules import Placed, taken
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.cache_usage import Gone
from lightrag_dagster.storage.database.decisions import DecisionStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation


def why_decided(situation: Situation, gone: Gone) -> Iterator[str]:
    """Yield each decision in force that names what is gone, or a name that no document has, and how it ends."""
    record = Generation(situation.home, situation.require_published().snapshot_id).record()
    unmatched = {entity_id(name): name for name in record.curation.unmatched}
    for one in situation.decided.decisions:
        if found := next(_about(one, unmatched, gone), None):
            number = one.place.removeprefix("decision ")
            end = f"`lightrag-dagster curate undo {number}`" if number.isdecimal() else "remove it from that file"
            yield f"{one.place} {found}; {end}, `lightrag-dagster run`, then purge again"


def erase_undone(home: Home) -> int:
    """Remove the decisions that were undone from the table, and return their number; raises StoreError."""
    if numbers := [one.number for one in taken(home) if one.undone]:
        with DecisionStore(home.decisions) as store:
            store.erase(numbers)
    return len(numbers)


def _about(one: Placed, unmatched: dict[str, str], gone: Gone) -> Iterator[str]:
    decision = one.decision
    yield from (f"names “{unmatched[found]}”, which no document has" for found in decision.ids if found in unmatched)
    for source, paths in gone.items():
        if not paths and composed(source) in decision.sources:
            yield f"names the source {source}"
        yield from (f"names the path {path}" for path in sorted(paths) if composed(path) in decision.paths)
