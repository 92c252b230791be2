"""Whether a source's tables are what its files, the code and the settings would make now.

Decided from what each table version recorded when it was written, never from Dagster's event log. Files that changed
are one thing; prompts, models, settings or code that changed are another, called drift: following it can cost as much
as the first build did, so a run leaves rows that have drifted as they are until somebody asks for a backfill. Parsing
alone is never held back, because it costs no call.
"""

from dataclasses import dataclass

from lightrag_dagster.stages.extraction.extractions import needs_retry
from lightrag_dagster.storage.tables import SourceTables, TableVersion
from lightrag_dagster.build.versions import Versions

MIXED = "mixed"
"""Recorded in place of a fingerprint for a table whose rows were made in several ways."""


@dataclass(frozen=True)
class Stale:
    """The first table of a source that must be made again, and why."""

    table: str
    reason: str


def first_stale(
    tables: SourceTables, source: str, files: str, versions: Versions, *, backfill: bool = False
) -> Stale | None:
    """Return what the next run must make again for `source`, or None when there is nothing.

    Args:
        tables: The home's tables.
        source: Name of the source.
        files: `listing_signature` of the source's files now.
        versions: Fingerprints of the stages now.
        backfill: Count drift, as the setting `backfill: automatic` does.
    """
    follows_drift = backfill or versions.settings.backfill == "automatic"
    upstream = {"files": files}
    for table, fingerprint in (*_held_back(versions).items(), *_parsed(versions).items()):
        current = tables.current(table, source)
        reason = _reason(current, upstream)
        if not reason and table == "extractions" and _failed(tables, source, versions):
            reason = "chunks failed that may succeed now"
        if not reason and current and (follows_drift or table in _parsed(versions)):
            reason = "code, prompts or settings changed" if current.fingerprint != fingerprint else None
        if reason:
            return Stale(table, reason)
        assert current is not None
        if table in _held_back(versions):
            upstream = {table: current.version}
    return None


def drifted(tables: SourceTables, source: str, versions: Versions) -> list[str]:
    """Return the tables of `source` that prompts, model, settings or code of today would make otherwise.

    The first of them is what changed; a backfill makes it and everything after it again.
    """
    return [
        table
        for table, fingerprint in _held_back(versions).items()
        if (current := tables.current(table, source)) and current.fingerprint != fingerprint
    ]


def recorded_fingerprint(now: str, previous: TableVersion | None, *, kept: int, made: int) -> str:
    """Return what a table version of which `kept` rows are of `previous` and `made` were made `now` records."""
    if previous is None or not kept or previous.fingerprint == now:
        return now
    return MIXED if made else previous.fingerprint


def _held_back(versions: Versions) -> dict[str, str]:
    return {
        "raw_documents": versions.raw_documents,
        "chunks": versions.chunks,
        "extractions": versions.extractions,
    }


def _parsed(versions: Versions) -> dict[str, str]:
    return {"entity_mentions": versions.mentions, "relation_mentions": versions.mentions}


def _failed(tables: SourceTables, source: str, versions: Versions) -> bool:
    rows = tables.read("extractions", source, columns=["error_kind"])
    return needs_retry(rows, retry_failed=versions.settings.llm.retry_failed)


def _reason(current: TableVersion | None, inputs: dict[str, str]) -> str | None:
    if current is None:
        return "never made"
    return "input changed" if current.inputs != inputs else None
