"""The first run of this package in a home that another version wrote: what was paid for or decided stays.

Tables of sources get today's columns, and what was accepted of them stays accepted. Stored answers, vectors, the ledger
and decisions are left as they are. Snapshots are removed, since nothing reads them: the newest one leaves its summaries
and its embedder to the next, which the run makes of all these. After a kill the next run begins again: until FORMAT is
today's, nothing else opens the home.
"""

from functools import cache
from pathlib import Path
from uuid import uuid4

from pydantic import Field, ValidationError

from lightrag_dagster.fact_schemas import PASS_TABLES, kind_of, of_pass
from lightrag_dagster.listing_schemas import LISTING_STATE
from lightrag_dagster.schemas import MERGED_TABLES, SOURCE_TABLES, UNPARTITIONED_TABLES
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import FORMAT, Left
from lightrag_dagster.storage.layout import layout
from lightrag_dagster.storage.locking import builder_lock, source_lock
from lightrag_dagster.storage.locks.base import Lock
from lightrag_dagster.storage.manifests import EmbedderRecord, GenerationInputs
from lightrag_dagster.storage.records import Pointer, Record, read_record, write_record
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.versions import Accepted, TableVersion

_TABLES = SOURCE_TABLES | UNPARTITIONED_TABLES | LISTING_STATE | PASS_TABLES
_WITH_SUMMARIES = ("entities", "relations")
_REMOVED = (
    "removed, since this version cannot read them: the snapshots of another version of this package, with their names "
    "and any rollback"
)


# Of what another version wrote, only what is taken over.
class _Inputs(Record):
    embedder: EmbedderRecord


class _Manifest(Record):
    sequence: int
    inputs: _Inputs


class _Generation(Record):
    inputs: _Inputs
    summaries: dict[str, int] = Field(default={})
    failed_summaries: int = 0


def take_over(home: Home, timeout: float | None = None) -> list[str]:
    """Make a home that another version of this package wrote one of this; return what people should know of it.

    Raises:
        BuilderLockedError: another process still built in it, or ingested a source, after `timeout` seconds.
        StoreError: it has a newer format, a record or table is damaged, or the disk refuses.
    """
    home.files.refresh()
    found = home_format.read(home)
    if home_format.is_todays(found):
        return []
    with builder_lock(home, timeout) as lock, home.files.session(lock):
        found = home_format.read(home)
        if found is None or home_format.is_todays(found):
            return []  # another process was faster
        for source in sorted({Home.source_of(folder) for folder in home.root.glob("tables/*/*")}):
            with source_lock(home, source, timeout):
                _take_over_tables(home, source)
        left = _left_by_snapshots(home)
        found = found.model_copy(update={"id": found.id or uuid4().hex, "left": left or found.left})
        home_format.write(home, found)
        _remove_snapshots(home, _keep_summaries(home), lock)
        home_format.write(home, found.model_copy(update={"format": FORMAT, "layout": layout()}))
        home.files.push(lock)
    return [_REMOVED] if found.left else []


def _take_over_tables(home: Home, source: str) -> None:
    """Store all versions that records of a source name with today's columns, and let the records name these."""
    tables = SourceTables(home)

    @cache
    def today(table: str, version: str) -> str:
        return tables.take_over(table, source, version)

    for folder in home.root.glob(f"tables/*/{home.source_table('', source).name}"):
        for pointer in (folder / "current.json", folder / "candidate.json"):
            found = _version(pointer) if kind_of(folder.parent.name) in _TABLES else None
            if found is None or not tables.has(found.table, source, today(found.table, found.version)):
                pointer.unlink(missing_ok=True)  # so that the table is made again
                continue
            inputs = {name: today(name, one) if kind_of(name) in _TABLES else one for name, one in found.inputs.items()}
            now = {"version": today(found.table, found.version), "inputs": inputs}
            write_record(pointer, found.model_copy(update=now))
    if accepted := read_record(home.accepted(source), Accepted, "ignore"):
        versions = {table: today(table, accepted.tables.get(table, "")) for table in SOURCE_TABLES}
        passes = {
            name: {table: today(of_pass(table, name), one) for table, one in tables.items()}
            for name, tables in accepted.passes.items()
        }
        write_record(home.accepted(source), Accepted(source=source, tables=versions, passes=passes))


def _version(pointer: Path) -> TableVersion | None:
    try:
        return TableVersion.model_validate_json(pointer.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _left_by_snapshots(home: Home) -> Left | None:
    """Return what the newest snapshot leaves to the next one; None if there is none."""
    found = [read_record(path, _Manifest, "ignore") for path in home.generations.glob(f"gen-*/{generations.MANIFEST}")]
    newest = max(filter(None, found), key=lambda one: one.sequence, default=None)
    return Left(embedder=newest.inputs.embedder, sequence=newest.sequence) if newest else None


def _keep_summaries(home: Home) -> Generation | None:
    """Make the newest generation one of entities and relations alone, from which the next takes its summaries."""
    pointer = read_record(home.newest, Pointer, "ignore")
    if pointer is None or not home.generation(pointer.id).exists():
        return None
    last = generations.fetched(home, pointer.id)
    record = read_record(last.path(generations.RECORD), _Generation, "ignore")
    if record is None or not all(map(last.has, _WITH_SUMMARIES)):
        return None
    inputs = GenerationInputs(
        sources={}, revisions="", merging=MergingSettings(), encoding="", embedder=record.inputs.embedder
    )
    with generations.scratch_folder(home) as folder:
        tables: dict[str, list[Path]] = {table: [] for table in MERGED_TABLES}
        for table in _WITH_SUMMARIES:
            rows = atomic.read_conforming(last.path(f"{table}.parquet"), MERGED_TABLES[table])
            atomic.write_parquet(folder / f"{table}.parquet", rows)
            tables[table] = [folder / f"{table}.parquet"]
        kept = generations.store(home, inputs, tables, record.summaries, record.failed_summaries)
    generations.set_newest(home, kept)
    return kept


def _remove_snapshots(home: Home, kept: Generation | None, lock: Lock) -> None:
    """Remove all snapshots, generations and exports except one generation, and what names them."""
    folders = [path for path in home.generations.glob("gen-*") if kept is None or path.name != kept.id]
    gone = [home.published, home.held, home.pins, home.exported, home.collected, home.views]
    for path in (*gone, *(folder / generations.MANIFEST for folder in folders)):
        path.unlink(missing_ok=True)
    home.files.push(lock)
    for folder in (*folders, home.exports, home.scratch):
        home.files.remove_folder(folder)
