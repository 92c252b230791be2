"""Whether a source's tables are what its files, the code and the settings would make now.

Decided from what each table version recorded when it was written, never from Dagster's event log.
"""

from dataclasses import dataclass

from lightrag_dagster.extraction.extractions import needs_retry
from lightrag_dagster.stores.tables import SourceTables, TableVersion
from lightrag_dagster.versions import Versions


@dataclass(frozen=True)
class Stale:
    """The first table of a source that must be made again, and why."""

    table: str
    reason: str


def first_stale(tables: SourceTables, source: str, files: str, versions: Versions) -> Stale | None:
    """Return what must be made again for `source`, or None when everything is up to date.

    Args:
        tables: The home's tables.
        source: Name of the source.
        files: `listing_signature` of the source's files now.
        versions: Fingerprints of the stages now.
    """
    upstream = {"files": files}
    for table, fingerprint in (
        ("raw_documents", versions.raw_documents),
        ("chunks", versions.chunks),
        ("extractions", versions.extractions),
        ("entity_mentions", versions.mentions),
        ("relation_mentions", versions.mentions),
    ):
        current = tables.current(table, source)
        reason = _reason(current, upstream, fingerprint)
        if not reason and table == "extractions" and _failed(tables, source, versions):
            reason = "chunks failed that may succeed now"
        if reason:
            return Stale(table, reason)
        assert current is not None
        if not table.endswith("_mentions"):
            upstream = {table: current.version}
    return None


def _failed(tables: SourceTables, source: str, versions: Versions) -> bool:
    rows = tables.read("extractions", source, columns=["error_kind"])
    return needs_retry(rows, retry_failed=versions.settings.llm.retry_failed)


def _reason(current: TableVersion | None, inputs: dict[str, str], fingerprint: str) -> str | None:
    if current is None:
        return "never made"
    if current.fingerprint != fingerprint:
        return "code, prompts or settings changed"
    if current.inputs != inputs:
        return "input changed"
    return None
