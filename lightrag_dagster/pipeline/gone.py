"""Sources that are gone: still published until that is accepted, or on their way out."""

from collections.abc import Collection, Mapping, Sequence

from lightrag_dagster.core.text.composed import stored_name
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.curation.rules.additions import CURATION
from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.deletions import unless_intended
from lightrag_dagster.stages.documents.sources import Source, chosen_sources, find_source, find_sources
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import GenerationInputs, Manifest
from lightrag_dagster.storage.snapshots.snapshots import latest_snapshot
from lightrag_dagster.storage.tables.acceptance import accepted, accepted_sources
from lightrag_dagster.storage.tables.source_tables import SourceTables


def removed_sources(home: Home, before: Manifest | None, after: GenerationInputs | None) -> dict[str, int]:
    """Return the sources of a snapshot that a later merge lacks, with the number of documents last listed of each."""
    if before is None or after is None:
        return {}
    gone = before.inputs.sources.keys() - after.sources.keys() - after.left_out.keys()
    counts = _documents_of(home, {source: before.inputs.sources[source] for source in gone})
    return {source: rows or 0 for source, rows in counts.items()}


def gone_sources(home: Home, sources: Collection[str]) -> set[str]:
    """Return what is merged and is none of the `sources` now; raises StoreError.

    A source that was let go has no accepted version any more, and one that went before it was merged leaves nothing.
    """
    gone = accepted_sources(home).difference(sources)
    if gone and (newest := latest_snapshot(home)):
        gone &= newest.inputs.sources.keys()
    return gone


def chosen_or_gone(settings: Settings, names: Sequence[str]) -> tuple[list[Source], list[str]]:
    """Return the sources of these names, or all when none is named, and the names of published ones that are gone.

    Raises:
        SourceError: as `chosen_sources`.
        StoreError: the home is damaged.
    """
    home, found = Home.of(settings), find_sources(settings) if names else {}
    gone = gone_sources(home, found) if names else set()
    if names and (newest := latest_snapshot(home)):  # a run that was killed may have let them go
        gone |= newest.inputs.sources.keys() - found.keys() - {CURATION}
    there = [name for name in names if stored_name(name, found) in found or stored_name(name, gone) not in gone]
    away = [stored_name(name, gone) for name in names if name not in there]
    return ([] if away and not there else chosen_sources(settings, there)), away


def source_to_read(settings: Settings, name: str) -> Source:
    """Return a configured source; raises SourceError when there is none of that name, or why it is withheld."""
    try:
        return find_source(settings, name)
    except SourceError as error:
        if reason := held_sources(settings, find_sources(settings)).get(name):
            raise SourceError(reason) from error
        raise


def held_sources(settings: Settings, sources: Collection[str]) -> dict[str, str]:
    """Return what is merged and is none of the `sources` now, and why it stays; raises StoreError.

    A disk that is not mounted looks like a folder that was deleted, so that only `documents.accept_deletes` lets it go.
    """
    home = Home.of(settings)
    gone = {name: accepted(home, name) for name in gone_sources(home, sources) if not settings.documents.lets_go(name)}
    counts = _documents_of(home, {name: record.tables for name, record in gone.items() if record})
    return {
        name: f"source {name!r} is gone, with its {_counted_documents(rows)}. {unless_intended(name)}"
        for name, rows in counts.items()
        if rows != 0
    }


def _documents_of(home: Home, versions: Mapping[str, Mapping[str, str]]) -> dict[str, int | None]:
    """Return the number of documents in these versions of each source, None if a file is lost; not of additions."""
    tables, counts = SourceTables(home), dict[str, int | None]()
    for source, version in sorted(versions.items()):
        if source != CURATION:
            try:
                counts[source] = home.files.count_rows(tables.paths("raw_documents", source, version["raw_documents"]))
            except StoreError:
                counts[source] = None
    return counts


def _counted_documents(rows: int | None) -> str:
    return "documents" if rows is None else counted(rows, "document", "documents")
