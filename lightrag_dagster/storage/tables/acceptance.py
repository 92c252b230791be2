"""Which version of each source the merge reads: the last one that is whole, and of which little enough is missing."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self
from urllib.parse import unquote

from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.fact_schemas import OF_COLUMNS, PASS_TABLES, of_pass, split_pass
from lightrag_dagster.schemas import NO_ROW, SOURCE_TABLES
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.records import read_record, write_record
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted, TableVersion

MADE_FROM = {
    "chunks": "raw_documents",
    "extractions": "chunks",
    "entity_mentions": "extractions",
    "relation_mentions": "extractions",
    "parsed": "extractions",
}
"""Table of a source → the one that it is made from."""


def made_from(table: str) -> str | None:
    """Return the table that one of a source, also of a pass, is made from; None for the first."""
    kind, name = split_pass(table)
    return MADE_FROM.get(kind) if not name else "chunks" if kind == "readings" else of_pass("readings", name)


class AnswerRows(NamedTuple):
    """Rows of answers: those that yielded a mention or were rejected, and the rejected ones of them."""

    rows: int = 0
    rejected: int = 0

    @classmethod
    def of(cls, sums: Mapping[str, int]) -> Self:
        """Count them by the sums of a version of `parsed`."""
        return cls(sum(sums.values()), sums.get("rejected_rows", 0))

    @property
    def share(self) -> float:
        """The share of rejected rows, 0 to 1."""
        return self.rejected / max(1, self.rows)


class Bounds(NamedTuple):
    """Largest shares of what a source may lack, 0 to 1: of documents and of chunks that failed, of rejected rows."""

    max_failed_share: float
    max_rejected_share: float

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return those of some settings."""
        return cls(settings.documents.max_failed_share, settings.extraction.max_rejected_share)


@dataclass(frozen=True)
class Acceptance:
    """The judgement on versions of a source's tables: may they be merged, and why not.

    They are `whole` when each was made from the one before it. The shares are of documents, of extracted chunks and of
    the rows of answers, 0 to 1; 0 when the tables are not whole.
    """

    accepted: bool
    tables: dict[str, str]
    reason: str | None = None
    whole: bool = True
    failed_documents: float = 0.0
    failed_chunks: float = 0.0
    rejected_rows: float = 0.0


def judge(tables: SourceTables, source: str, bounds: Bounds) -> Acceptance:
    """Say whether the current versions of a source's six tables may be merged; no table is read.

    They may when each was made from the current version of the one before it, when neither the failed share of
    documents nor that of chunks exceeds its bound, and when the rejected share of the rows of answers does not
    exceed its own: of all answers, or of those that the accepted version does not have. So a version that
    was accepted stays accepted under any parser, and does not excuse new answers. Skipped documents count in neither
    number.

    Raises:
        StoreError: a record is damaged.
    """
    current = tables.current_versions(source)
    versions = {table: version.version for table, version in current.items()}
    if broken := _broken_lineage(source, current):
        return Acceptance(False, versions, broken, whole=False)
    documents, chunks, parsed = (current[table] for table in ("raw_documents", "extractions", "parsed"))
    reason = _failed_too_many(tables, documents, bounds) or _failed_too_many(tables, chunks, bounds)
    reason = reason or _rejected_too_many(tables, parsed, bounds)
    shares = failed_share(documents), failed_share(chunks), AnswerRows.of(parsed.sums).share
    return Acceptance(reason is None, versions, reason, True, *shares)


def judge_pass(tables: SourceTables, source: str, name: str, bounds: Bounds) -> Acceptance:
    """Say whether the current versions of the tables of a pass may be merged, by the bounds of the first reading.

    Raises:
        StoreError: a record is damaged.
    """
    current = {table: tables.current(of_pass(table, name), source) for table in PASS_TABLES}
    made = {table: one for table, one in current.items() if one}
    record = accepted(tables.home, source)
    versions = {table: one.version for table, one in made.items()}
    if made.keys() != current.keys() or any(
        made[table].inputs.get(of_pass("readings", name)) != versions["readings"] for table in ("facts", "read_facts")
    ):
        return Acceptance(False, versions, f"pass {name} has not read source {source!r} yet", whole=False)
    if record and made["readings"].inputs["chunks"] != record.tables.get("chunks"):
        reason = f"pass {name} has read chunks of source {source!r} that are not accepted, or not yet those that are"
        return Acceptance(False, versions, reason, whole=False)
    readings, sums = made["readings"], made["read_facts"].sums
    rejected = sums.get("rejected_rows", 0)
    rows = AnswerRows(rejected + sums.get("facts", 0), rejected)
    problem = _failed_too_many(tables, readings, bounds)
    if not problem and rows.share > bounds.max_rejected_share:
        of_columns = name == OF_COLUMNS
        mend = "the cells or raise the bound" if of_columns else "the schema, raise the bound or ask another model"
        what = "facts in columns of" if of_columns else "rows of the answers about"
        shown, reasons = f"{what} source {source!r} yield no fact", made["read_facts"].counts.get("reason", {})
        problem = _rejected(rows, shown, bounds, reasons, f"mend {mend}")
    said = f"pass {name}: {problem}" if problem else None
    return Acceptance(said is None, versions, said, True, 0.0, failed_share(readings), rows.share)


def accept(home: Home, source: str, bounds: Bounds, name: str = "", *, candidate: bool = False) -> Acceptance:
    """Accept the current versions of a source's tables, all six at once, or of those of a pass; or keep the accepted.

    Those of a pass are accepted only beside accepted tables of the source, which stay. With `candidate` it is those of
    a backfill, which become the current ones when they are accepted.

    Raises:
        StoreError: a record is damaged or the disk refuses.
    """
    tables, before = SourceTables(home, candidate=candidate), accepted(home, source)
    acceptance = judge_pass(tables, source, name, bounds) if name else judge(tables, source, bounds)
    if not acceptance.accepted or (name and not before):
        return acceptance
    passes = before.passes if before else {}
    now = Accepted(source=source, tables=acceptance.tables, passes=passes)
    if name and before:
        now = before.model_copy(update={"passes": dict(sorted({**passes, name: acceptance.tables}.items()))})
    if candidate:
        tables.promote(source, [of_pass(table, name) for table in PASS_TABLES] if name else SOURCE_TABLES)
    if before != now:
        write_record(home.accepted(source), now)
    return acceptance


def accept_all(
    home: Home, source: str, bounds: Bounds, passes: Iterable[str], *, candidate: bool = False
) -> Acceptance:
    """Accept the current versions of a source's tables, and of those of some passes, as `accept`."""
    acceptance = accept(home, source, bounds, candidate=candidate)
    for name in passes:
        accept(home, source, bounds, name, candidate=candidate)
    return acceptance


def accepted(home: Home, source: str) -> Accepted | None:
    """Return what was last accepted of a source, or None; raises StoreError when the record is damaged."""
    return read_record(home.accepted(source), Accepted)


def accepted_sources(home: Home) -> set[str]:
    """Return the sources of which a version was accepted, also those that are gone and not removed."""
    return {unquote(path.stem) for path in home.root.glob("accepted/*.json")}


def remove_gone_sources(home: Home, gone: Iterable[str]) -> None:
    """Remove what was accepted of sources that are not merged any more, and which versions of their tables are current.

    So no repair merges them again, and one that comes back is read like a new one: what it lost meanwhile stays lost.
    Call it under the builder's lock; one that another process ingests stays.
    """
    for source in gone:
        with suppress(BuilderLockedError), ingesting(home, source, 0):
            SourceTables(home).remove_records(source)
            home.accepted(source).unlink(missing_ok=True)


def remove_gone_passes(home: Home, source: str, passes: Collection[str]) -> None:
    """Remove what passes made of a source that are not among those of today, so that `gc` finds its files unused.

    All stays for now if another process ingests the source.
    """
    tables, record = SourceTables(home), accepted(home, source)
    named = {table: split_pass(table)[1] for table in tables.tables_of_passes(source)}
    gone = [table for table, name in named.items() if name not in passes]
    if record is None or not (gone or record.passes.keys() - passes):
        return
    with suppress(BuilderLockedError), ingesting(home, source, 0):
        tables.remove_records(source, gone)
        kept = {name: versions for name, versions in record.passes.items() if name in passes}
        if kept != record.passes:
            write_record(home.accepted(source), record.model_copy(update={"passes": kept}))


def failed_share(version: TableVersion) -> float:
    """Return the share of rows that failed, 0 to 1, among those that are not skipped."""
    return version.count("status", "failed") / max(1, _counted(version))


def _failed_too_many(tables: SourceTables, version: TableVersion, bounds: Bounds) -> str | None:
    """Return why too many documents or chunks failed; None if they did not.

    It names the option that asks again; a backfill has none.
    """
    most, share = bounds.max_failed_share, failed_share(version)
    if share <= most:
        return None
    what = "documents" if version.table == "raw_documents" else "chunks"
    asks = what == "chunks" and not tables.candidate and version.count("error_kind", "permanent")
    again = ", with `--retry-failed` to ask again about chunks that failed for good" if asks else ""
    first = "".join(f"; {reason}" for reason in version.reasons)
    return (
        f"{version.count('status', 'failed'):,} of {_counted(version):,} {what} of source {version.source!r} failed "
        f"({share:.1%}), more than the {most:.1%} that documents.max_failed_share allows{first}; correct them or raise "
        f"the bound, and run again{again}"
    )


def _rejected_too_many(tables: SourceTables, parsed: TableVersion, bounds: Bounds) -> str | None:
    """Return why too many rows of the answers were rejected; None if they were not."""
    record, source = accepted(tables.home, parsed.source), parsed.source
    has_answers = record is not None and record.tables.get("extractions") == parsed.inputs["extractions"]
    whole = AnswerRows.of(parsed.sums)
    new = AnswerRows() if has_answers else AnswerRows.of(parsed.new_sums)
    if min(whole.share, new.share) <= bounds.max_rejected_share:
        return None
    reasons = {reason: rows for reason, rows in parsed.counts["reason"].items() if reason != NO_ROW}
    since = f", {new.rejected:,} of {new.rows:,} since it was last accepted" if new != whole else ""
    mend = "raise the bound and run again, or backfill the source with another model or prompt"
    shown = f"rows of the answers about source {source!r} could not be used"
    return _rejected(whole, shown, bounds, reasons, mend, since)


def _rejected(
    rows: AnswerRows, shown: str, bounds: Bounds, reasons: Mapping[str, int], mend: str, since: str = ""
) -> str:
    """Return the sentence about rows that were rejected, given reason → rows and the next step."""
    most = f"; most often: {max(reasons, key=reasons.__getitem__)}" if reasons else ""
    return (
        f"{rows.rejected:,} of {rows.rows:,} {shown} ({rows.share:.1%}{since}), more than the "
        f"{bounds.max_rejected_share:.1%} that extraction.max_rejected_share allows{most}; {mend}"
    )


def _counted(version: TableVersion) -> int:
    return version.rows - version.count("status", "skipped")


def _broken_lineage(source: str, current: Mapping[str, TableVersion]) -> str | None:
    for table in SOURCE_TABLES:
        if table not in current:
            return f"source {source!r} has no {table} yet; materialise {table} for it"
    for table, parent in MADE_FROM.items():
        if current[table].inputs.get(parent) != current[parent].version:
            return f"{table} of source {source!r} was not made from its current {parent}; materialise {table} for it"
    return None
