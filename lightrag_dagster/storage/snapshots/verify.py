"""Damage of published files: record sizes and hashes at publication, and find what differs later.

`files.json` in the folder of a generation lists every file that its snapshot reads: its own, the Parquet files of its
sources, and the LanceDB files of its vector versions. The graph database, which may come later, has its own record, and
so have the views, which name the place of the home.
"""

import errno
import logging
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError, one_line, unread
from lightrag_dagster.storage.files import atomic, packed
from lightrag_dagster.storage.files.mirror import OF_THIS_HOME, each
from lightrag_dagster.storage.files.session import is_record
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import BuiltGraph, FileSum, GenerationRecord, Manifest, PublishedFiles, Vectors
from lightrag_dagster.storage.records import read_record
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.lance_files import files_of_version

_log = logging.getLogger(__name__)

FILES = "files.json"
OTHER_CONTENT = "has other content than when it was published"

_OF_GRAPH = (generations.GRAPH, generations.GRAPH_RECORD)
_OF_MACHINE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_NAMED_AGAIN = (".manifest", ".json")


class Damage(NamedTuple):
    """A file that is not as it was published, how, and its address if that is another, as in a bucket."""

    path: Path
    reason: str
    address: str | None = None

    def __str__(self) -> str:
        return f"{self.address or self.path} {self.reason}"


def record_files(home: Home, manifest: Manifest, before: str | None, written: Path | None = None) -> None:
    """Write `files.json` of a generation.

    Args:
        home: the home of the generation.
        manifest: its manifest.
        before: snapshot whose record gives the hashes of files that both read; they are never changed.
        written: the file that becomes the manifest, if that is not in its place.

    Raises:
        StoreError: a file is missing, or the disk refuses.
    """
    known = read_record(home.generation(before) / FILES, PublishedFiles) if before else None
    found, own = {}, {path: path for path in _own_files(home, manifest)}
    if written and not home.bucket:
        own[home.generation(manifest.snapshot_id) / generations.MANIFEST] = written
    try:
        for path, place in own.items():
            name, size = str(path.relative_to(home.root)), place.stat().st_size
            recorded = known.files.get(name) if known else None
            found[name] = recorded if recorded and recorded.size == size else FileSum.of(place)
        for sizes in each(partial(files_of_version, home), manifest.vectors.tables.values()):
            for path, size in sizes.items():
                name = str(path.relative_to(home.root))
                # Names of data are random; those of versions and tags are those of a table that was written again.
                recorded = known.files.get(name) if known and path.suffix not in _NAMED_AGAIN else None
                new = FileSum(size=size, sha256=None) if home.bucket else FileSum.of(path)
                found[name] = recorded if recorded and recorded.size == size else new
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be read ({error.strerror}); run again") from error
    path = home.generation(manifest.snapshot_id) / FILES
    atomic.write_text(path, PublishedFiles(files=found).model_dump_json())


def portable_files(content: bytes) -> bytes:
    """Return `files.json` as a home in a bucket has it: without records; one that is damaged as it is."""
    with suppress(ValidationError):
        found = PublishedFiles.model_validate_json(content).files
        kept = {name: one for name, one in found.items() if not is_record(name) and Path(name).name not in OF_THIS_HOME}
        content = PublishedFiles(files=kept).model_dump_json().encode()
    return content


def published_bytes(home: Home, snapshot_id: str) -> int:
    """Return the bytes of the files that a snapshot reads, as recorded, without the views; raises StoreError."""
    folder = home.generation(snapshot_id)
    record = read_record(folder / FILES, PublishedFiles)
    graph = read_record(folder / _OF_GRAPH[1], BuiltGraph)
    found = [*record.files.values()] if record else []
    return sum(one.size for one in found + ([graph.file] if graph else []))


def find_damage(home: Home, snapshot_id: str, *, verify: bool = False) -> list[Damage]:
    """Return the files of a snapshot that are missing or of another size, and with `verify` of other content.

    Without `verify` no content is read. With it, a copy in the cache of a bucket that differs is removed.
    """
    folder = home.generation(snapshot_id)
    try:
        manifest = read_record(folder / generations.MANIFEST, Manifest)
        record = read_record(folder / FILES, PublishedFiles)
        read_record(folder / generations.RECORD, GenerationRecord)
        read_record(folder / generations.VECTORS, Vectors)
    except StoreError as error:
        require_right(error)
        return [Damage(folder, f"has a damaged record: {error}")]
    if manifest is None or record is None:
        return [Damage(folder / (generations.MANIFEST if manifest is None else FILES), "is missing")]
    try:
        built = read_record(folder / generations.GRAPH_RECORD, BuiltGraph)
    except StoreError as error:
        require_right(error)
        return [Damage(folder / generations.GRAPH_RECORD, f"is damaged: {error}")]
    listed = _listed(home, manifest)
    checks = {folder / generations.GRAPH: built.file} if built else {}
    checks |= {
        home.root / name: written for name, written in record.files.items() if Path(name).name not in OF_THIS_HOME
    }
    return [
        Damage(path, reason, f"{home.name}/{path.relative_to(home.root)}")
        for path, written in checks.items()
        if (reason := _difference(home, path, written, listed.get(path), verify=verify))
    ]


def require_right(error: StoreError) -> None:
    """Raise the error of a record again if this user may not read it, which says nothing of the record."""
    if isinstance(error.__cause__, PermissionError):
        raise error


def is_of_graph(damage: Damage) -> bool:
    """Say whether only the graph database is damaged."""
    return damage.path.name in _OF_GRAPH


def _own_files(home: Home, manifest: Manifest) -> list[Path]:
    """Return the files of the snapshot except graph, views and those of LanceDB; of a bucket, the data files."""
    folder, left_out = home.generation(manifest.snapshot_id), (FILES, *_OF_GRAPH, *OF_THIS_HOME)
    own = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "." and path.name not in left_out]
    own = [path for path in own if not (home.bucket and path.suffix == ".json")]
    generation = Generation(home, manifest.snapshot_id)
    return sorted({*own, *(path for table in generations.TABLES for path in generation.table_files(table))})


def _listed(home: Home, manifest: Manifest) -> dict[Path, Stored]:
    """Return the files of a bucket that a snapshot may read; nothing of a home on disk, whose files are looked at."""
    if home.bucket is None:
        return {}
    folders = (home.generation(manifest.snapshot_id), home.root / "tables", home.lance)
    return {path: one for found in each(home.files.list_folder, folders) for path, one in found.items()}


def _difference(home: Home, path: Path, written: FileSum, listed: Stored | None, *, verify: bool) -> str | None:
    try:
        if home.bucket and listed is None:
            return f"is missing in {home.bucket}"
        size = listed.size if listed else path.stat().st_size
        # A purge that was killed moved tags; the length of a tag follows from that of the manifest it names.
        is_tag = size > 0 and path.parent.name == "tags"
        is_packed = home.bucket and packed.is_packed(str(path.relative_to(home.root)))
        if size != written.size and not is_tag and not is_packed:
            return f"has {size} bytes, and was published with {written.size}"
        read = verify and not (home.bucket and path.is_relative_to(home.lance))
        if read and written.sha256 and _hash_stored(home, path, written) != written.sha256:
            return OTHER_CONTENT
    except OSError as error:
        return reason_of(path, error)
    return None


def reason_of(path: Path, error: OSError) -> str:
    """Return the damage of a file that cannot be read; raises StoreError when the reason is the machine, not the file.

    The machine has too little memory, the process too many open files, or this user no right to read it.
    """
    if isinstance(error, PermissionError):
        raise unread(path, error, "") from error
    if error.errno in _OF_MACHINE:
        raise StoreError(f"{path} cannot be read: {error.strerror}; nothing was changed, run again later") from error
    missing = isinstance(error, FileNotFoundError)
    return "is missing" if missing else f"cannot be read ({error.strerror or one_line(error)})"


def _hash_stored(home: Home, path: Path, written: FileSum) -> str:
    """Return the hash of a file. A copy of other content in the cache of a bucket is removed, and so fetched again."""
    if home.bucket and path.exists():
        with suppress(OSError):  # the bucket counts, and another process may have removed the copy
            if FileSum.of(path).sha256 != written.sha256:
                _log.warning("%s is not as it was published; it is fetched again", path)
                path.unlink()
    return home.files.hash(path)
