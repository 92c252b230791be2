"""The documents that a purge is about: found by their names, noted until it has ended, and where copies are."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.text.composed import stored_name
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.cache_usage import Gone
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.purging import Unfinished
from lightrag_dagster.storage.records import read_record, write_record
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables

_log = logging.getLogger(__name__)

_NEAREST, _ALIKE = 3, 0.6  # paths that an error suggests, and how alike they are at least, between 0 and 1

_DOCUMENTS = pa.schema({name: pa.string() for name in ("version", "path", "content_hash")})


def find_gone(situation: Situation, names: Sequence[str]) -> Gone:
    """Return what `SOURCE` and `SOURCE/PATH` name.

    Raises:
        SourceError: one of them is still there, or has no trace in the home, so that it may be a slip of the pen.
        StoreError: the home is damaged, or there is none.
    """
    home = Home.existing(situation.settings)
    sources = situation.sources
    gone = Gone()
    published = situation.published.inputs.sources if situation.published else {}
    unfinished = _unfinished(home)
    listed = cache(lambda source: {file.path for file in list_files(sources[source])})
    stored = cache(lambda source: set(stored_documents(home, source)["path"].unique().to_pylist()))
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
    before, of_edits = _unfinished(home), home.purging.exists() and bool(gone)
    both = {source: _united(paths, before.get(source, paths)) for source, paths in gone.items()}
    write_record(home.purging, Unfinished(gone=before | both))
    home.files.push()
    yield
    left = {source: paths - gone.get(source, set()) for source, paths in before.items() if gone.get(source) != set()}
    left = {source: paths for source, paths in left.items() if paths or not before[source]}
    if left or (of_edits and not before):
        write_record(home.purging, Unfinished(gone=left))
    else:
        for written in (home.purging, *home.root.glob(f".{home.purging.name}.*")):  # as killed purges leave it
            written.unlink(missing_ok=True)


def _united(some: set[str], others: set[str]) -> set[str]:
    """Return the paths in one of two sets, of which an empty one is the whole source."""
    return some | others if some and others else set()


def _unfinished(home: Home) -> Gone:
    found = read_record(home.purging, Unfinished)
    gone = found.gone if found else {}
    for source in gone:  # of which folders are removed; a path names none, and the id of a row may be any text
        if source.startswith((".", "/")) or ".." in source.split("/"):
            raise StoreError(f"{home.purging} names {source!r}, which cannot be a source; {Unfinished.mended_by}")
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
        paths = stored_documents(home, source)["path"].unique().to_pylist()
        if found := [path for path in sorted(paths) if path == name or path.endswith(f"/{name}")]:
            return f"; did you mean {source}/{found[0]}?"
    return _nearest(name.partition("/")[0], sources)


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return the part of an error that suggests the most similar known names; empty if there are none."""
    from rapidfuzz.distance.Indel import normalized_similarity
    from rapidfuzz.process import extract  # both slow to import, and most names are spelt well

    found = [one for one, *_ in extract(name, known, scorer=normalized_similarity, limit=_NEAREST, score_cutoff=_ALIKE)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def holders(home: Home, gone: Gone) -> dict[str, list[str]]:
    """Return for each document, or source, that is gone the snapshots that have it, in order of publication."""
    snapshots, found = list_snapshots(home), {}
    for source, paths in gone.items():
        used = {one.snapshot_id: one.inputs.sources.get(source, {}).get("raw_documents") for one in snapshots}
        if not paths:
            found[source] = [snapshot_id for snapshot_id, version in used.items() if version]
            continue
        for path, versions in versions_by_path(stored_documents(home, source), paths).items():
            found[f"{source}/{path}"] = [snapshot_id for snapshot_id, version in used.items() if version in versions]
    return found


def copies(home: Home, gone: Gone, snapshot: Manifest) -> dict[str, list[str]]:
    """Return for documents that are gone the published ones with the same text, as after a document was renamed."""
    removed = [pa.table({"name": pa.array([], pa.string()), "content_hash": pa.array([], pa.string())})]
    for source, paths in gone.items():
        rows = stored_documents(home, source)
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


def stored_documents(home: Home, source: str) -> pa.Table:
    """Return `version`, `path` and `content_hash` of the documents in every stored version of a source.

    One that is damaged is left out, since a purge removes it; raises StoreError for the current or accepted one.
    """
    stored = home.files.list_folder(home.source_table("raw_documents", source))
    found, tables = [_DOCUMENTS.empty_table()], SourceTables(home)
    for version in {one.stem for one in stored if one.suffix in (".parquet", ".shards")}:
        try:
            rows = tables.read("raw_documents", source, version, ["path", "content_hash"])
        except StoreError as error:
            current = tables.current("raw_documents", source)
            record = accepted(home, source)
            if version in (current and current.version, record and record.version("raw_documents")):
                raise
            _log.warning("left out, since no run reads this version of the documents of %s: %s", source, error)
            continue
        found.append(rows.add_column(0, "version", pa.repeat(version, rows.num_rows)).cast(_DOCUMENTS))
    return pa.concat_tables(found)


def _named(source: pa.Scalar | pa.ChunkedArray, documents: pa.Table, column: str) -> pa.Table:
    """Return `source/path` of documents, in a column of that name, and `content_hash`."""
    names = pc.binary_join_element_wise(source, documents["path"], "/")
    return pa.table({column: names, "content_hash": documents["content_hash"]})


def versions_by_path(documents: pa.Table, paths: set[str]) -> dict[str, set[str]]:
    """Return for each path, in order, the versions that have a document there."""
    found: dict[str, set[str]] = {path: set() for path in sorted(paths)}
    rows = documents.filter(pc.is_in(documents["path"], pa.array(sorted(paths))))
    for row in rows.select(["path", "version"]).to_pylist():
        found[row["path"]].add(row["version"])
    return found
