"""The removal of documents for good: rows that the published snapshot and today's tables do not use are deleted.

The texts of a document are in many places under hashes that do not tell. So nothing is looked for: once it is gone from
the published snapshot and from the tables of its source, all that these do not need goes. Every step can be repeated.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.text.composed import stored_name
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.indexes.vector_writer import remove_other_versions, rewrite_vectors
from lightrag_dagster.models.batch.ledger import OPEN, BatchLedger
from lightrag_dagster.pipeline.merge import next_publication
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scope_tables import fill
from lightrag_dagster.pipeline.scopes import empty, pending_scopes, scopes_below
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.cache_usage import Gone, used_responses, used_summaries, used_vectors
from lightrag_dagster.purge.decided import erase_undone, refuse_while_decided
from lightrag_dagster.reading_schemas import READING_STATE
from lightrag_dagster.schemas import SOURCE_TABLES
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting, using_batches
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.records import Record, read_record
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.exported import forget_comparisons
from lightrag_dagster.storage.snapshots.gc import Garbage, remove_unused
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import (
    held_snapshot,
    list_snapshots,
    pin,
    pinned_snapshots,
)
from lightrag_dagster.storage.snapshots.verify import record_files
from lightrag_dagster.storage.tables.acceptance import Bounds, judge, judge_pass, remove_gone_passes
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES, SourceTables

_NEAREST, _ALIKE = 3, 0.6  # paths that an error suggests, and how alike they are at least, between 0 and 1

_DOCUMENTS = pa.schema({name: pa.string() for name in ("version", "path", "content_hash")})


@dataclass(frozen=True)
class Purged:
    """The numbers of rows and files that were removed."""

    snapshots: int
    table_versions: int
    responses: int
    vectors: int
    decisions: int


class Unfinished(Record):
    """`purging.json`: what a purge that was interrupted is to remove; the tables may not have it any more."""

    mended_by = "delete it, and run the last `purge` again"

    gone: Gone


def find_gone(situation: Situation, names: Sequence[str]) -> Gone:
    """Return what `SOURCE` and `SOURCE/PATH` name.

    Raises:
        SourceError: one of them is still there, or has no trace in the home, so that it may be a slip of the pen.
        StoreError: the home is damaged.
    """
    home, sources, gone = situation.home, situation.sources, Gone()
    published = situation.published.inputs.sources if situation.published else {}
    unfinished = _unfinished(home)
    listed = cache(lambda source: {file.path for file in list_files(sources[source])})
    stored = cache(lambda source: set(_stored_documents(home, source)["path"].unique().to_pylist()))
    earlier = cache(lambda: _earlier_sources(home))
    known = cache(lambda source: stored(source) | listed(source) | unfinished.get(source, set()))
    for name in names:
        source, _, path = name.partition("/")
        if source not in sources:
            source = stored_name(source, {*sources, *earlier(), *unfinished})
        if path and source in sources:
            path = stored_name(path, known(source))
        if source == CURATION and (path or CURATION in published):
            raise SourceError(
                f"{name} is what people added; undo it by `lightrag-dagster curate undo`, and `lightrag-dagster run`, "
                "and any purge removes its text"
            )
        if source not in sources:
            if unfinished.get(source) != set() and source not in earlier():
                meant = _meant(home, name, sorted({*sources, *earlier()}))
                raise SourceError(f"there never was a source {source!r}, or it is purged already{meant}")
            if path:
                raise SourceError(f"there is no source {source!r}; if it was removed as a whole, purge {source}")
            gone[source] = set()
            continue
        if still := _still_there(sources[source], name, path, listed):
            raise SourceError(f"{still} and run `lightrag-dagster run` first")
        if path not in stored(source) and path not in unfinished.get(source, ()):
            raise SourceError(
                f"no snapshot and no table has {name}: it never was a document, or is purged already"
                f"{_nearest(name, [f'{source}/{one}' for one in sorted(known(source))])}"
            )
        gone.setdefault(source, set()).add(path)
    return gone


def _still_there(source: Source, name: str, path: str, listed: Callable[[str], set[str]]) -> str | None:
    """Return why a source or its document cannot be purged yet, and the next step; None if the document is gone."""
    place = source.origin.name
    if not path:
        return f"{source.name} is still a source; remove {place}, or its entry in lightrag.yaml,"
    if isinstance(source.origin, Partitioned) and path.partition("/")[0] in listed(source.name):
        return f"{name} is in a partition that cannot be read now, so that it may be there; mend that"
    if path not in listed(source.name):
        return None
    return f"{name} is still in its source; for what it said before, purge without a name; else delete {place}/{path}"


@contextmanager
def noted(home: Home, gone: Gone) -> Iterator[None]:
    """Note for the block, in one of `purging`, that a purge is not finished, so that it can be run again after a kill.

    By then nothing else may tell that the documents were ever there.

    Raises:
        StoreError: the disk refuses, or the record is damaged.
    """
    before = _unfinished(home)
    both = {source: _united(paths, before.get(source, paths)) for source, paths in gone.items()}
    atomic.write_text(home.purging, Unfinished(gone=before | both).model_dump_json())
    home.files.push()
    yield
    left = {source: paths - gone.get(source, set()) for source, paths in before.items() if gone.get(source) != set()}
    if left := {source: paths for source, paths in left.items() if paths or not before[source]}:
        atomic.write_text(home.purging, Unfinished(gone=left).model_dump_json())
    else:
        home.purging.unlink(missing_ok=True)


def _united(some: set[str], others: set[str]) -> set[str]:
    """Return the paths in one of two sets, of which an empty one is the whole source."""
    return some | others if some and others else set()


def _unfinished(home: Home) -> Gone:
    found = read_record(home.purging, Unfinished)
    gone = found.gone if found else {}
    for name in (f"{source}/{path}" for source, paths in gone.items() for path in paths or {""}):
        if name.startswith((".", "/")) or ".." in name.split("/"):
            raise StoreError(
                f"{home.purging} names {name!r}, which cannot be the path of a document; {Unfinished.mended_by}"
            )
    return gone


def _earlier_sources(home: Home) -> set[str]:
    """Return the sources that were ever read here, even in part."""
    # Folders are listed, since the path that a name such as `..` or an empty one gives is there in every home.
    begun = (folder.with_suffix("") for folder in home.root.glob("ingesting/*.work"))
    read = (Home.source_of(folder) for folder in (*home.root.glob("tables/raw_documents/*"), *begun))
    return {*read, *(source for one in list_snapshots(home) for source in one.inputs.sources)}


def _meant(home: Home, name: str, sources: Sequence[str]) -> str:
    """Return the part of an error that suggests the document, or else the sources, that an unknown name may mean."""
    for source in sources:
        paths = _stored_documents(home, source)["path"].unique().to_pylist()
        if found := [path for path in sorted(paths) if path == name or path.endswith(f"/{name}")]:
            return f"; did you mean {source}/{found[0]}?"
    return _nearest(name.partition("/")[0], sources)


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return the part of an error that suggests the most similar known names; empty if there are none."""
    from rapidfuzz.distance.Indel import normalized_similarity
    from rapidfuzz.process import extract  # both slow to import, and most names are spelt well

    found = [one for one, *_ in extract(name, known, scorer=normalized_similarity, limit=_NEAREST, score_cutoff=_ALIKE)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


@contextmanager
def purging(recipes: Recipes, gone: Gone) -> Iterator[Situation]:
    """Hold the locks for a purge of documents that no run would read any more, and give the situation under them.

    Raises:
        BuilderLockedError: another process builds, or ingests one of the sources.
        StoreError: a snapshot, a table, a rollback, batches or a decision need them; the message says what to do.
    """
    home = Home.of(recipes.settings)
    with ExitStack() as locks:
        lock = locks.enter_context(building(home))
        for source in sorted(gone):
            locks.enter_context(ingesting(home, source))
        locks.enter_context(using_batches(home))
        for one in (home, *(Home.of(recipes.settings.within(name)) for name in recipes.settings.scopes)):
            if held := held_snapshot(one):
                command = f"--scope {one.scope} release" if one.scope else "release"
                raise StoreError(f"{held} is held; run `lightrag-dagster {command}` first")
        situation = Situation.building(recipes, lock)
        situation.require_published()
        if next_publication(situation) is not None or pending_scopes(situation):
            raise StoreError("the published snapshot is not up to date; run `lightrag-dagster run` first")
        for source, paths in gone.items():
            _refuse_while_used(situation, source, paths)
        refuse_while_decided(situation, gone)
        if home.may_have_batches:
            with BatchLedger(home.batches) as ledger:
                if ledger.batches(*OPEN):
                    raise StoreError(
                        "batches are under way, which may hold the text; let `run --wait` finish them, "
                        "or cancel them with `lightrag-dagster batch cancel --all`"
                    )
        yield situation


def holders(home: Home, gone: Gone) -> dict[str, list[str]]:
    """Return for each document, or source, that is gone the snapshots that have it, in order of publication."""
    snapshots, found = list_snapshots(home), {}
    for source, paths in gone.items():
        used = {one.snapshot_id: one.inputs.sources.get(source, {}).get("raw_documents") for one in snapshots}
        if not paths:
            found[source] = [snapshot_id for snapshot_id, version in used.items() if version]
            continue
        for path, versions in _versions_by_path(_stored_documents(home, source), paths).items():
            found[f"{source}/{path}"] = [snapshot_id for snapshot_id, version in used.items() if version in versions]
    return found


def copies(home: Home, gone: Gone, snapshot: Manifest) -> dict[str, list[str]]:
    """Return for documents that are gone the published ones with the same text, as after a document was renamed."""
    removed = [pa.table({"name": pa.array([], pa.string()), "content_hash": pa.array([], pa.string())})]
    for source, paths in gone.items():
        rows = _stored_documents(home, source)
        if paths:
            rows = rows.filter(pc.is_in(rows["path"], pa.array(sorted(paths))))
        removed.append(_named(pa.scalar(source), rows, "name"))
    published = Generation(home, snapshot.snapshot_id).read_table("raw_documents", ["source", "path", "content_hash"])
    with_text = pa.concat_tables(removed).filter(pc.field("content_hash") != "")
    same = with_text.join(_named(published["source"], published, "copy"), "content_hash", join_type="inner")
    pairs = same.group_by(["name", "copy"]).aggregate([])  # several versions may have the same
    found: dict[str, list[str]] = {}
    for row in pairs.sort_by([("name", "ascending"), ("copy", "ascending")]).to_pylist():
        found.setdefault(row["name"], []).append(row["copy"])
    return found


def purge(situation: Situation, gone: Gone) -> Purged:
    """Remove all that the published snapshot and today's tables do not use; call it in a block of `purging`.

    The tables of backfills of documents that are gone go as well, and all tables of sources that are gone.

    Raises:
        StoreError: a store is damaged or used by another process, or the disk refuses; run it again.
    """
    home, snapshot, below = situation.home, situation.require_published(), scopes_below(situation)
    scopes = [one for one in below if one.published]
    for one in (situation, *scopes):
        generations.fetched(one.home, one.require_published().snapshot_id)
        generations.remove_leftovers(one.home)
    with ResponseStore(home.responses) as responses, VectorStore(home.vectors) as vectors:
        stored = responses.keys(), vectors.keys()  # first, so that what others buy meanwhile stays
        unused = (
            stored[0].difference(
                used_responses(situation, gone, responses), *(used_summaries(one, responses) for one in scopes)
            ),
            stored[1].difference(*(used_vectors(one.home, one.require_published()) for one in (situation, *scopes))),
        )
        responses.erase(unused[0])
        vectors.erase(unused[1])
    undone = erase_undone(home)
    if CURATION not in snapshot.inputs.sources:  # all additions are undone
        for table in SOURCE_TABLES:
            home.files.remove_folder(home.source_table(table, CURATION))
    garbage = _forget(home, gone, snapshot)
    for one in below:
        if one.published:
            with building(one.home):
                _forget(one.home, gone, one.published)
        else:  # it shows nothing, and may have tables of what it would have shown
            empty(one.home)
            fill(one.settings, home, snapshot.inputs.sources)
    home.failures.unlink(missing_ok=True)
    Looks(home.ledger).forget_reasons()
    shutil.rmtree(home.batch_files, ignore_errors=True)
    if home.may_have_batches:
        with BatchLedger(home.batches) as ledger:
            ledger.forget_reasons()
    if garbage.skipped:
        raise StoreError(
            f"being ingested, so that older versions of their tables stay: {', '.join(garbage.skipped)}; "
            "purge again when that has ended"
        )
    responses_gone, vectors_gone = map(len, unused)
    return Purged(len(garbage.generations), garbage.table_versions, responses_gone, vectors_gone, undone)


def _forget(home: Home, gone: Gone, snapshot: Manifest) -> Garbage:
    """Remove what a home has besides its published snapshot and today's tables; raises StoreError as `purge`."""
    _forget_records(home, gone, snapshot)
    for entry in snapshot.vectors.tables.values():
        rewrite_vectors(home, entry)
    record_files(home, snapshot, None)
    compared = forget_comparisons(home, {snapshot.snapshot_id})  # they name what is in it no more
    home.files.push()
    for folder in compared:
        home.files.remove_folder(folder)
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
    reason = None
    if paths and (current := tables.current("raw_documents", source)):
        record = situation.accepted.get(source)
        versions = {current.version, used.get("raw_documents"), record.tables["raw_documents"] if record else None}
        stored = _versions_by_path(_stored_documents(home, source), paths)
        held = [path for path, having in stored.items() if not versions.isdisjoint(having)]
        reason = f"the tables of {source} still hold {held[0]}" if held else None
        if not judge(tables, source, *Bounds.of(situation.settings)).whole:
            reason = f"the tables of {source} are not made from its documents as they are now"
        remove_gone_passes(home, source, names := situation.recipes.pass_names(source))
        for name in names:
            judged, kept = (
                judge_pass(tables, source, name, Bounds.of(situation.settings)),
                record and record.passes.get(name),
            )
            if (judged.tables or kept) and (not judged.whole or kept not in (None, judged.tables)):
                reason = f"what pass {name} read of {source} may be of documents as they were"
    if reason:
        raise StoreError(f"{reason}; run `lightrag-dagster run` until it accepts {source}, then purge again")


def _stored_documents(home: Home, source: str) -> pa.Table:
    """Return `version`, `path` and `content_hash` of the documents in every stored version of a source."""
    stored = home.files.list_folder(home.source_table("raw_documents", source))
    found, tables = [_DOCUMENTS.empty_table()], SourceTables(home)
    for version in {one.stem for one in stored if one.suffix in (".parquet", ".shards")}:
        rows = tables.read("raw_documents", source, version, ["path", "content_hash"])
        found.append(rows.add_column(0, "version", pa.repeat(version, rows.num_rows)).cast(_DOCUMENTS))
    return pa.concat_tables(found)


def _named(source: pa.Scalar | pa.ChunkedArray, documents: pa.Table, column: str) -> pa.Table:
    """Return `source/path` of documents, in a column of that name, and `content_hash`."""
    names = pc.binary_join_element_wise(source, documents["path"], "/")
    return pa.table({column: names, "content_hash": documents["content_hash"]})


def _versions_by_path(documents: pa.Table, paths: set[str]) -> dict[str, set[str]]:
    """Return for each path, in order, the versions that have a document there."""
    found: dict[str, set[str]] = {path: set() for path in sorted(paths)}
    rows = documents.filter(pc.is_in(documents["path"], pa.array(sorted(paths))))
    for row in rows.select(["path", "version"]).to_pylist():
        found[row["path"]].add(row["version"])
    return found


def _forget_records(home: Home, gone: Gone, snapshot: Manifest) -> None:
    """Let no record name another snapshot, a table of sources that are gone, or a backfill of the other sources."""
    for name, named in pinned_snapshots(home).items():
        if named != snapshot.snapshot_id:
            pin(home, name, None)
    generations.set_newest(home, Generation(home, snapshot.snapshot_id))
    for source, paths in gone.items():
        of_passes = SourceTables(home).tables_of_passes(source)
        for folder in (home.source_table(table, source) for table in (*SOURCE_TABLES, *READING_STATE, *of_passes)):
            if not paths:
                home.files.remove_folder(folder)
            for path in [folder / "candidate.json", *folder.glob(".*")]:
                path.unlink(missing_ok=True)
        # They may be of an earlier reading, if the last one was killed before it wrote its own.
        for table in READING_STATE:
            (home.source_table(table, source) / "current.json").unlink(missing_ok=True)
        shutil.rmtree(home.ingestion_folder(source), ignore_errors=True)
        if not paths:
            home.accepted(source).unlink(missing_ok=True)
    _forget_answers(SourceTables(home), snapshot)


def _forget_answers(tables: SourceTables, snapshot: Manifest) -> None:
    """Forget answers and compared names of earlier snapshots, and of evaluations keep the numbers."""
    for table in ("answers", "communities", "duplicate_candidates"):
        found = tables.current(table, ALL_SOURCES)
        if found and found.inputs.get("knowledge_base") != snapshot.snapshot_id:
            (tables.home.source_table(table, ALL_SOURCES) / "current.json").unlink()
    evaluated = tables.current("evaluated_questions", ALL_SOURCES)
    if evaluated:
        rows = tables.read("evaluated_questions", ALL_SOURCES, evaluated.version)
        todays = pc.equal(rows["snapshot_id"], snapshot.snapshot_id)
        kept = pc.if_else(todays, rows["answer"], pa.scalar(None, pa.string()))
        rows = rows.set_column(rows.schema.get_field_index("answer"), rows.schema.field("answer"), kept)
        inputs, recipe = evaluated.inputs, evaluated.recipe
        tables.write("evaluated_questions", ALL_SOURCES, rows, inputs=inputs, recipe=recipe)
