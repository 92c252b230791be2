"""What of each source is published, pending, failed or drifted: what `status` and the drift report show."""

from collections.abc import Sequence
from dataclasses import dataclass

from lightrag_dagster.build.plan import Plan
from lightrag_dagster.build.planning import make_plan
from lightrag_dagster.stages.documents.listing import list_files, listing_signature
from lightrag_dagster.stages.documents.sources import Source, find_sources
from lightrag_dagster.errors import SourceError
from lightrag_dagster.build.inheritance import drifted_parts
from lightrag_dagster.models.batch.ledger import sources_that_wait
from lightrag_dagster.settings import Settings
from lightrag_dagster.build.staleness import drifted, first_stale
from lightrag_dagster.storage.acceptance import accepted
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import current_snapshot
from lightrag_dagster.storage.tables import SourceTables
from lightrag_dagster.build.versions import Versions

PUBLISHED = "published"


@dataclass(frozen=True)
class SourceState:
    """`state` is `published` or says what is missing; `drifted` names the tables that would be made otherwise now."""

    source: str
    state: str
    drifted: list[str]


def source_states(settings: Settings) -> list[SourceState]:
    """Return the state of every configured source, in order of name.

    Raises:
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    home, versions = Home(settings.home), Versions.of(settings)
    tables, waiting = SourceTables(home), sources_that_wait(settings.llm, home)
    states = []
    for name, source in find_sources(settings).items():
        state = "waits for batches" if name in waiting else _state(tables, source, versions)
        states.append(SourceState(name, state, drifted(tables, name, versions)))
    return states


def backfill_plan(settings: Settings, states: Sequence[SourceState]) -> Plan | None:
    """Return what a backfill of all that has drifted would cost, or None when nothing has.

    Sources that cannot be listed are left out.
    """
    names = []
    for name, source in find_sources(settings).items():
        if any(one.source == name and one.drifted for one in states):
            try:
                list_files(source)
            except SourceError:
                continue
            names.append(name)
    if not names and not drifted_parts(Versions.of(settings)):
        return None
    return make_plan(settings, names or None, backfill=True, knowledge_base=True)


def _state(tables: SourceTables, source: Source, versions: Versions) -> str:
    home = Home(versions.settings.home)
    try:
        stale = first_stale(tables, source.name, listing_signature(list_files(source)), versions)
    except SourceError as error:
        return f"cannot be listed: {error}"
    if stale is not None:
        return f"pending: {stale.table}, {stale.reason}"
    record, manifest = accepted(home, source.name), current_snapshot(home)
    if record is None:
        return "not accepted: too many failures"
    published = manifest.inputs.sources.get(source.name) if manifest else None
    return PUBLISHED if published == record.tables else "pending: merge"
