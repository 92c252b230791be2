"""Absent sources: still published until that is accepted, or on their way out."""

from collections.abc import Collection, Mapping

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.deletions import unless_intended
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import GenerationInputs, Manifest
from lightrag_dagster.storage.tables.acceptance import accepted, accepted_sources
from lightrag_dagster.storage.tables.source_tables import SourceTables


def removed_sources(home: Home, before: Manifest | None, after: GenerationInputs | None) -> dict[str, int]:
    """Return the sources of a snapshot that a later merge lacks, with the number of documents last listed of each."""
    if before is None or after is None:
        return {}
    absent = before.inputs.sources.keys() - after.sources.keys() - {CURATION}
    counts = _documents_of(home, {source: before.inputs.sources[source] for source in absent})
    return {source: rows or 0 for source, rows in counts.items()}


def merged_before(home: Home, sources: Collection[str], newest: Manifest | None) -> set[str]:
    """Return the names of what is merged and is none of the `sources` now; raises StoreError.

    A source that was removed has no accepted version any more, and one that went before it was merged leaves nothing.
    """
    absent = accepted_sources(home).difference(sources)
    return absent & newest.inputs.sources.keys() if newest else absent


def absent_sources(settings: Settings, home: Home, sources: Collection[str], newest: Manifest | None) -> dict[str, str]:
    """Return what is merged and is none of the `sources` now, and why it stays; raises StoreError.

    A disk that is not mounted looks like a folder that was deleted, so that only `documents.accept_deletes` removes it.
    """
    names = [name for name in merged_before(home, sources, newest) if not settings.documents.accepts_deletes_of(name)]
    records = {name: record.tables for name in names if (record := accepted(home, name))}
    return {
        name: f"source {name!r} is gone, with its {counted(rows, 'document', 'documents') if rows else 'documents'}. "
        f"{unless_intended(name)}"
        for name, rows in _documents_of(home, records).items()
        if rows != 0
    }


def _documents_of(home: Home, versions: Mapping[str, Mapping[str, str]]) -> dict[str, int | None]:
    """Return the number of documents in these versions of each source, None if a file is lost."""
    tables, counts = SourceTables(home), dict[str, int | None]()
    for source, version in sorted(versions.items()):
        try:
            counts[source] = home.files.count_rows(tables.paths("raw_documents", source, version["raw_documents"]))
        except StoreError:
            counts[source] = None
    return counts
