"""Which version of each source the merge reads: the last one that held together and did not fail too much."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage import files
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Record, read_record
from lightrag_dagster.storage.tables import SourceTables, TableVersion

_MADE_FROM = {
    "chunks": "raw_documents",
    "extractions": "chunks",
    "entity_mentions": "extractions",
    "relation_mentions": "extractions",
}


class Accepted(Record):
    """`accepted/<source>.json`: the version of each of a source's tables that the merge reads."""

    source: str
    tables: dict[str, str]


@dataclass(frozen=True)
class Acceptance:
    """What was decided about the current versions of a source, and why not when not.

    The shares are of documents and of extracted chunks, 0 to 1; 0 when the tables do not hold together.
    """

    accepted: bool
    reason: str | None
    failed_documents: float = 0.0
    failed_chunks: float = 0.0


def accept(home: Home, source: str, max_failed_share: float) -> Acceptance:
    """Accept the current versions of a source's tables, all five together, or keep what was accepted before.

    They are accepted when each was made from the current version of the one before it, and when neither the failed
    share of documents nor that of chunks exceeds `max_failed_share`.

    Raises:
        StoreError: a table cannot be read or the disk refuses.
    """
    tables = SourceTables(home)
    current = {table: version for table in SOURCE_TABLES if (version := tables.current(table, source))}
    if reason := _broken_lineage(source, current):
        return Acceptance(accepted=False, reason=reason)
    failed_documents = _failed_share(tables, current["raw_documents"])
    failed_chunks = _failed_share(tables, current["extractions"])
    for what, share in (("documents", failed_documents), ("chunks", failed_chunks)):
        if share > max_failed_share:
            reason = (
                f"{share:.1%} of the {what} of source {source!r} failed, more than the {max_failed_share:.1%} that "
                "documents.max_failed_share allows; see the error column, mend them or raise it, and run again"
            )
            return Acceptance(False, reason, failed_documents, failed_chunks)
    record = Accepted(source=source, tables={table: version.version for table, version in current.items()})
    if accepted(home, source) != record:
        files.write_text(home.accepted(source), record.model_dump_json(indent=2))
    return Acceptance(True, None, failed_documents, failed_chunks)


def accepted(home: Home, source: str) -> Accepted | None:
    """Return what was last accepted of a source, or None; raises StoreError when the record is damaged."""
    return read_record(home.accepted(source), Accepted)


def _broken_lineage(source: str, current: Mapping[str, TableVersion]) -> str | None:
    for table in SOURCE_TABLES:
        if table not in current:
            return f"source {source!r} has no {table} yet; materialise {table} for it"
    for table, parent in _MADE_FROM.items():
        if current[table].inputs.get(parent) != current[parent].version:
            return f"{table} of source {source!r} was not made from its current {parent}; materialise {table} for it"
    return None


def _failed_share(tables: SourceTables, version: TableVersion) -> float:
    if not version.rows:
        return 0.0
    status = tables.read(version.table, version.source, version.version, columns=["status"]).column("status")
    failed: int = pc.sum(pc.equal(status, "failed")).as_py()
    return failed / version.rows
