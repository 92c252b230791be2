"""Which version of each source the merge reads: the last one that is whole and of which not too much failed."""

from collections.abc import Mapping
from dataclasses import dataclass

from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage import files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Record, read_record
from lightrag_dagster.storage.tables import SourceTables, TableVersion

MADE_FROM = {
    "chunks": "raw_documents",
    "extractions": "chunks",
    "entity_mentions": "extractions",
    "relation_mentions": "extractions",
}
"""Table of a source → the one that it is made from."""


class Accepted(Record):
    """`accepted/<source>.json`: the version of each of a source's tables that the merge reads."""

    source: str
    tables: dict[str, str]


@dataclass(frozen=True)
class Acceptance:
    """The judgement on versions of a source's tables: may they be merged, and why not.

    They are `whole` when each was made from the one before it. The shares are of documents and of extracted chunks,
    0 to 1; 0 when the tables are not whole.
    """

    accepted: bool
    tables: dict[str, str]
    reason: str | None = None
    whole: bool = True
    failed_documents: float = 0.0
    failed_chunks: float = 0.0


def judge(tables: SourceTables, source: str, max_failed_share: float) -> Acceptance:
    """Say whether the current versions of a source's five tables may be merged; no table is read.

    They may when each was made from the current version of the one before it, and when neither the failed share of
    documents nor that of chunks exceeds `max_failed_share`. Skipped documents count in neither number.

    Raises:
        StoreError: a record is damaged.
    """
    current = tables.current_versions(source)
    versions = {table: version.version for table, version in current.items()}
    if reason := _broken_lineage(source, current):
        return Acceptance(accepted=False, tables=versions, reason=reason, whole=False)
    documents, chunks = current["raw_documents"], current["extractions"]
    shares = failed_share(documents), failed_share(chunks)
    for what, version, share in (("documents", documents, shares[0]), ("chunks", chunks, shares[1])):
        if share > max_failed_share:
            failed, counted = version.count("status", "failed"), _counted(version)
            first = "".join(f"; {reason}" for reason in version.reasons)
            reason = (
                f"{failed:,} of {counted:,} {what} of source {source!r} failed ({share:.1%}), more than the "
                f"{max_failed_share:.1%} that documents.max_failed_share allows{first}; "
                "correct them or raise the bound, and run again"
            )
            return Acceptance(False, versions, reason, True, *shares)
    return Acceptance(True, versions, None, True, *shares)


def accept(home: Home, source: str, max_failed_share: float, *, candidate: bool = False) -> Acceptance:
    """Accept the current versions of a source's tables, all five at once, or keep the accepted ones.

    With `candidate` it is those of a backfill, which become the current ones when they are accepted.

    Raises:
        StoreError: a record is damaged or the disk refuses.
    """
    tables = SourceTables(home, candidate=candidate)
    acceptance = judge(tables, source, max_failed_share)
    if acceptance.accepted:
        record = Accepted(source=source, tables=acceptance.tables)
        if candidate:
            tables.promote(source)
        if accepted(home, source) != record:
            files.write_text(home.accepted(source), record.model_dump_json(indent=2))
    return acceptance


def accepted(home: Home, source: str) -> Accepted | None:
    """Return what was last accepted of a source, or None; raises StoreError when the record is damaged."""
    return read_record(home.accepted(source), Accepted)


def failed_share(version: TableVersion) -> float:
    """Return the share of rows that failed, 0 to 1, among those that are not skipped."""
    return version.count("status", "failed") / max(1, _counted(version))


def _counted(version: TableVersion) -> int:
    return version.rows - version.count("status", "skipped")


def _broken_lineage(source: str, current: Mapping[str, TableVersion]) -> str | None:
    for table in SOURCE_TABLES:
        if table not in current:
            return f"source {source!r} has no {table} yet; materialise {table} for it"
        if "status" in SOURCE_TABLES[table].names and "status" not in current[table].counts:
            return f"{table} of source {source!r} was written by an older version of this package; run again"
    for table, parent in MADE_FROM.items():
        if current[table].inputs.get(parent) != current[parent].version:
            return f"{table} of source {source!r} was not made from its current {parent}; materialise {table} for it"
    return None
