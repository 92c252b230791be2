"""The removal of documents for good: rows that the published snapshot and today's tables do not use are deleted.

The texts of a document are in many places under hashes that do not tell. So nothing is looked for: once it is gone from
the published snapshot and from the tables of its source, all that these do not need goes. Every step can be repeated.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import StoreError, one_line
from lightrag_dagster.indexes.vector_writer import remove_other_versions, rewrite_vectors
from lightrag_dagster.listing_schemas import LISTING_STATE
from lightrag_dagster.models.batch.ledger import OPEN, BatchLedger
from lightrag_dagster.pipeline.inputs import next_publication
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scope_tables import fill
from lightrag_dagster.pipeline.scopes import empty, pending_scopes, scopes_below
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.cache_usage import Gone, note, unused, used_responses, used_summaries, used_vectors
from lightrag_dagster.purge.decided import erase_undone, why_decided
from lightrag_dagster.purge.documents import stored_documents, versions_by_path
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.duckdb import spilling
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting, using_batches
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.exported import forget_comparisons
from lightrag_dagster.storage.snapshots.gc import Garbage, garbage_generations, remove_unused
from lightrag_dagster.storage.snapshots.generations import RECORD, Generation
from lightrag_dagster.storage.snapshots.made_graphs import forget_made_graphs
from lightrag_dagster.storage.snapshots.readers import is_read
from lightrag_dagster.storage.snapshots.snapshots import held_snapshot, pin, pinned_snapshots, published_snapshot
from lightrag_dagster.storage.snapshots.verify import record_files
from lightrag_dagster.storage.tables.acceptance import Bounds, judge, judge_pass, remove_gone_passes
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables


class Purged(NamedTuple):
    """The numbers of rows and files that were removed."""

    snapshots: int
    table_versions: int
    responses: int
    vectors: int
    decisions: int


@contextmanager
def purging(recipes: Recipes, gone: Gone) -> Iterator[Situation]:
    """Hold the locks for a purge of documents that no run would read any more, and give the situation under them.

    Raises:
        BuilderLockedError: another process builds, or ingests one of the sources.
        StoreError: a snapshot, a table, a rollback, batches or a decision need them; the message says what to do.
    """
    home = Home.existing(recipes.settings)
    with ExitStack() as locks:
        lock = locks.enter_context(building(home))
        for source in sorted(gone) or unfinished(home):
            locks.enter_context(ingesting(home, source))
        locks.enter_context(using_batches(home))
        for one in (home, *(Home.of(recipes.settings.within(name)) for name in recipes.settings.scopes)):
            if held := held_snapshot(one):
                command = f"--home {one.name} release" if one.scope else "lightrag-dagster release"
                raise StoreError(f"{held} is held; run `{command}` first")
            _refuse_readers(one)
        situation = Situation.building(recipes, lock)
        situation.require_published()
        if next_publication(situation) is not None:
            raise StoreError("the published snapshot is not up to date; run `lightrag-dagster run` first")
        for source, paths in gone.items():
            _refuse_while_used(situation, source, paths)
        mended = "run `lightrag-dagster run` first, mend it, or take it out of `scopes`"
        due = [f"scope {name} is not up to date: {why}; {mended}" for name, why in pending_scopes(situation).items()]
        if reasons := [*due, *why_decided(situation, gone)]:
            raise StoreError(some_of(reasons, between=";"))
        if home.may_have_batches:
            with BatchLedger(home.batches) as ledger:
                if ledger.batches(*OPEN):
                    raise StoreError(
                        "batches are under way, which may hold the text; let `run --wait` finish them, or cancel them "
                        "with `lightrag-dagster batch cancel --all`, until `lightrag-dagster batch` shows none"
                    )
        yield situation


def _refuse_readers(home: Home) -> None:
    """Check that no process is known to have a snapshot open that goes, whose answers would be stored again."""
    published = published_snapshot(home)
    for other in garbage_generations(home, [published.snapshot_id] if published else []):
        if is_read(home, other):
            end = "end the process (`fuser` names it), or let it open the knowledge base again, then purge again"
            raise StoreError(f"{home.generation(other) / RECORD} is open in a process, which answers from it; {end}")


def unfinished(home: Home) -> list[str]:
    """Return the sources with an unfinished backfill, or what a reading left that was killed.

    Both may have a text that was edited out since.
    """
    begun = {folder.with_suffix("") for folder in home.root.glob("ingesting/*.work")}
    return sorted(map(Home.source_of, begun | {one.parent for one in home.root.glob("tables/*/*/candidate.json")}))


def purge(situation: Situation, gone: Gone) -> Purged:
    """Remove all that the published snapshot and today's tables do not use; call it in a block of `purging`.

    Tables of backfills go too, of documents that are gone or, without any, of all; and those of sources that are gone.

    Raises:
        StoreError: a store is damaged or used by another process, or the disk refuses; run it again.
    """
    home = situation.home
    snapshot = situation.require_published()
    below = scopes_below(situation)
    scopes = [one for one in below if one.published]
    for source in [] if gone else unfinished(home):
        _forget_unfinished(home, source)
    for source in situation.accepted:
        remove_gone_passes(home, source, situation.pass_names(source))
    for one in (situation, *scopes):
        generations.fetched(one.home, one.require_published().snapshot_id)
        generations.remove_leftovers(one.home)
    try:
        erased = _erase_unused(situation, gone, scopes)
    except duckdb.Error as error:  # of a full disk
        raise StoreError(f"what is used cannot be compared: {one_line(error)}; make room, purge again") from error
    undone = erase_undone(home)
    if CURATION not in snapshot.inputs.sources:  # all additions are undone
        for table in SOURCE_TABLES:
            home.files.remove_folder(home.source_table(table, CURATION))
    garbage = _forget(home, gone, snapshot)
    forget_made_graphs(home, situation.settings.cache)
    for one in below:
        if one.published:
            with building(one.home):
                _forget(one.home, gone, one.published)
        else:  # it shows nothing, and may have tables of what it would have shown
            empty(one.home)
            fill(one.settings, home, snapshot.inputs.sources)
    home.failures.unlink(missing_ok=True)
    Looks(home.ledger).forget_reasons()
    atomic.remove(home.batch_files)
    if home.may_have_batches:
        with BatchLedger(home.batches) as ledger:
            ledger.forget_reasons()
    if garbage.skipped:
        raise StoreError(
            f"being ingested, so that older versions of their tables stay: {', '.join(garbage.skipped)}; "
            "purge again when that has ended"
        )
    return Purged(len(garbage.generations), garbage.table_versions, *erased, undone)


def _erase_unused(situation: Situation, gone: Gone, scopes: Sequence[Situation]) -> tuple[int, int]:
    """Remove the responses and vectors that neither a home nor its scopes use; return their numbers."""
    home = situation.home
    with (
        ResponseStore(home.responses, looking=True) as responses,
        VectorStore(home.vectors, looking=True) as vectors,
        spilling() as keys,
    ):
        note(keys, "stored", responses.keys())  # first, so that what others buy meanwhile stays
        note(keys, "stored_vectors", vectors.keys())
        note(keys, "used", used_responses(situation, gone, responses))
        for one in scopes:
            note(keys, "used", used_summaries(one, responses))
        for one in (situation, *scopes):
            note(keys, "used_vectors", used_vectors(one.home, one.require_published()))
        erased = responses.erase(unused(keys, "stored", "used"))
        return erased, vectors.erase(unused(keys, "stored_vectors", "used_vectors"))


def _forget(home: Home, gone: Gone, snapshot: Manifest) -> Garbage:
    """Remove what a home has besides its published snapshot and today's tables; raises StoreError as `purge`."""
    _forget_records(home, gone, snapshot)
    for entry in snapshot.vectors.tables.values():
        rewrite_vectors(home, entry)
    record_files(home, snapshot, snapshot.snapshot_id)  # a file that was damaged before stays so
    compared = forget_comparisons(home, snapshot.snapshot_id)  # they name what is in it no more
    home.files.push()
    for folder in compared:
        home.files.remove_folder(folder)
    _refuse_readers(home)
    garbage = remove_unused(home, {snapshot.snapshot_id: "published"}, dry_run=False)
    for entry in snapshot.vectors.tables.values():
        remove_other_versions(home, entry)
    home.files.empty_other_caches()
    return garbage


def _refuse_while_used(situation: Situation, source: str, paths: set[str]) -> None:
    home, tables = situation.home, SourceTables(situation.home)
    used = situation.require_published().inputs.sources.get(source, {})
    if used and not paths:
        removed = f"run `lightrag-dagster run --source {quote(source)} --accept-deletes`, then purge again"
        raise StoreError(f"{source} is still in the published snapshot; {removed}")
    reason, bounds = None, Bounds.of(situation.settings)
    if paths and (current := tables.current("raw_documents", source)):
        record = situation.accepted.get(source)
        versions = {current.version, used.get("raw_documents"), record.tables["raw_documents"] if record else None}
        stored = versions_by_path(stored_documents(home, source), paths)
        held = [path for path, having in stored.items() if not versions.isdisjoint(having)]
        reason = f"the tables of {source} still hold {held[0]}" if held else None
        if not judge(tables, source, bounds).whole:
            reason = f"the tables of {source} are not made from its documents as they are now"
        for name in passes_behind(situation, source):
            mended = "give it a model, or `sources` that are there, if it lacks them, or remove its schema"
            reason = f"what pass {name} read of {source} may be of documents as they were; {mended}"
    if reason:
        raise StoreError(f"{reason}; run `lightrag-dagster run` until it accepts {source}, then purge again")


def passes_behind(situation: Situation, source: str) -> Iterator[str]:
    """Yield the passes whose tables may have texts of documents of a source as they were; raises StoreError."""
    tables = SourceTables(situation.home)
    bounds = Bounds.of(situation.settings)
    record = situation.accepted.get(source)
    for name in situation.pass_names(source):
        judged = judge_pass(tables, source, name, bounds)
        kept = record and record.passes.get(name)
        if (judged.tables or kept) and (not judged.whole or kept not in (None, judged.tables)):
            yield name


def _forget_records(home: Home, gone: Gone, snapshot: Manifest) -> None:
    """Let no record name another snapshot, a table of sources that are gone, or a backfill of the other sources."""
    for name, named in pinned_snapshots(home).items():
        if named != snapshot.snapshot_id:
            pin(home, name, None)
    generations.set_newest(home, Generation(home, snapshot.snapshot_id))
    for source, paths in gone.items():
        _forget_unfinished(home, source)
        if not paths:
            for folder in _folders(home, source):
                home.files.remove_folder(folder)
            home.accepted(source).unlink(missing_ok=True)
    _forget_answers(SourceTables(home), snapshot)


def _forget_unfinished(home: Home, source: str) -> None:
    """Remove the records of a source's backfill and last reading, and what killed processes left of it."""
    for folder in _folders(home, source):
        for path in [folder / "candidate.json", *folder.glob(".*")]:
            path.unlink(missing_ok=True)
    # They may be of an earlier reading, if the last one was killed before it wrote its own.
    for table in LISTING_STATE:
        (home.source_table(table, source) / "current.json").unlink(missing_ok=True)
    atomic.remove(home.ingestion_folder(source))


def _folders(home: Home, source: str) -> list[Path]:
    """Return the folders of all tables of a source."""
    tables = (*SOURCE_TABLES, *LISTING_STATE, *SourceTables(home).tables_of_passes(source))
    return [home.source_table(table, source) for table in tables]


def _forget_answers(tables: SourceTables, snapshot: Manifest) -> None:
    """Forget answers and compared names of earlier snapshots, and of evaluations keep the numbers."""
    for table in ("answers", "communities", "duplicate_candidates"):
        found = tables.current(table, ALL_SOURCES)
        if found and found.inputs.get("knowledge_base") != snapshot.snapshot_id:
            (tables.home.source_table(table, ALL_SOURCES) / "current.json").unlink()
    if scored := tables.current("extraction_evaluation", ALL_SOURCES):
        rows = tables.read("extraction_evaluation", ALL_SOURCES, scored.version)
        kept = rows.filter(pc.invert(pc.is_in(rows["grouping"], pa.array(["source", "type"]))))
        tables.write("extraction_evaluation", ALL_SOURCES, kept, inputs=scored.inputs, recipe=scored.recipe)
    if evaluated := tables.current("evaluated_questions", ALL_SOURCES):
        rows = tables.read("evaluated_questions", ALL_SOURCES, evaluated.version)
        todays = pc.equal(rows["snapshot_id"], snapshot.snapshot_id)
        kept = pc.if_else(todays, rows["answer"], pa.scalar(None, pa.string()))
        rows = rows.set_column(rows.schema.get_field_index("answer"), rows.schema.field("answer"), kept)
        tables.write("evaluated_questions", ALL_SOURCES, rows, inputs=evaluated.inputs, recipe=evaluated.recipe)
