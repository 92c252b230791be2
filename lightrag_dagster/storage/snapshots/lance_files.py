"""The files of LanceDB that one version of a vector table reads, and the removal of those that none reads.

LanceDB says how many files a version has, and how large they are (`list_versions`), but not which; what lists them is
`pylance`, a second copy of the engine. So they are looked for in the manifest of the version: data files by their name,
deletion files by their random number, index folders by their UUID. A test compares them with what LanceDB counts.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from lightrag_dagster.core.objects import Stored
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable

MAX_DELETED_SHARE = 0.25
"""A table is written again when more than this share of its stored rows is deleted ones."""

MAX_FRAGMENTS = 200
"""A table is written again when it has more parts than this; each writing adds one."""

_NEVER = timedelta(days=36_500)

_VERSIONS, _TRANSACTIONS, _TAGS = "_versions", "_transactions", Path("_refs", "tags")
_OF_VERSIONS = (_VERSIONS, _TRANSACTIONS, "_indices", "_deletions", "data")
_HINT = "latest_version_hint.json"


def tag_file(home: Home, entry: VectorTable) -> Path:
    """Return the file of the tag of a version."""
    return _folder(home, entry.table) / _TAGS / f"{entry.tag}.json"


def tagged_version(home: Home, entry: VectorTable) -> int:
    """Return the number of the version that a tag names; raises OSError, and StoreError of a bucket."""
    return _tagged(home, tag_file(home, entry))


def files_of_version(home: Home, entry: VectorTable) -> dict[Path, int]:
    """Return the files that a tagged version reads, and their sizes in bytes; raises OSError."""
    tag = tag_file(home, entry)
    with ThreadPoolExecutor(1) as beside:  # of a bucket, both are requests
        version = beside.submit(_tagged, home, tag)
        stored = home.files.list_folder(_folder(home, entry.table))
    path = _manifests(stored)[version.result()]
    # Transactions are for writers; LanceDB may remove them.
    read = [one for one in _named_in(home, path, stored) if one.parent.name != _TRANSACTIONS]
    return {one: stored[one].size for one in (tag, path, *read)}


@dataclass(frozen=True)
class VectorFiles:
    """The files of a vector table: `kept` by version that is needed, and those that are `unused`."""

    table: str
    kept: Mapping[int, Collection[Path]]
    unused: Sequence[Path]


def find_unused(home: Home, table: str, tags: Collection[str], stored: Mapping[Path, Stored]) -> VectorFiles:
    """Return the files of a vector table that neither its newest version nor the versions of some tags read.

    LanceDB's own clean-up drops no version between two tagged ones, and it first writes the whole table again. Other
    tags come first and then manifests, so that after a kill no tag or version is left that lacks a file.

    Args:
        home: The home, while holding the builder's lock: nothing is half written then.
        table: Name of the table.
        tags: Those of its tags that stay.
        stored: The files of the table.

    Raises:
        OSError: a file cannot be read.
        StoreError: a version that is needed is missing, or the bucket refuses.
    """
    folder, manifests = _folder(home, table), _manifests(stored)
    tag_files = {folder / _TAGS / f"{tag}.json" for tag in tags}
    try:
        versions = {_tagged(home, tag) for tag in tag_files} | {max(manifests)}
        kept = {version: [manifests[version], *_named_in(home, manifests[version], stored)] for version in versions}
    except (KeyError, ValueError, FileNotFoundError) as error:
        raise StoreError(f"vector table {table} lacks a version that a snapshot reads; run `run --verify`") from error
    needed = tag_files | {path for paths in kept.values() for path in paths}
    places = [folder / name for name in (_TAGS, *_OF_VERSIONS)]
    ranks = {path: next((rank for rank, one in enumerate(places) if one in path.parents), None) for path in stored}
    unused = [(rank, path) for path, rank in ranks.items() if rank is not None and path not in needed]
    return VectorFiles(table, kept, [path for _, path in sorted(unused) if path.name != _HINT])


def drop_tables(home: Home, tables: Iterable[str]) -> None:
    """Remove whole tables; raises StoreError when LanceDB refuses."""
    import lancedb

    for table in tables:
        try:
            lancedb.connect(home.lance_uri).drop_table(table)
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(f"vector table {table} cannot be removed: {error}") from error


def remove_versions(home: Home, found: VectorFiles) -> None:
    """Remove the unused files of a table; write it again if that is worth it.

    Call it while holding the builder's lock.

    Raises:
        StoreError: LanceDB counts other files in a version that is needed, so that nothing was removed; or it refuses.
    """
    import lancedb

    try:
        handle = lancedb.connect(home.lance_uri).open_table(found.table)
        counted = {one["version"]: one["metadata"] for one in handle.list_versions()}
        for version, paths in found.kept.items():
            _require_same(found.table, version, paths, counted[version])
        home.files.remove(found.unused)
        if _is_worth_a_rewrite(counted[handle.version]):
            handle.optimize(cleanup_older_than=_NEVER)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise StoreError(f"vector table {found.table} cannot be cleaned: {error}; the next `gc` tries again") from error


def _folder(home: Home, table: str) -> Path:
    return home.lance / f"{table}.lance"


def _tagged(home: Home, tag: Path) -> int:
    return int(json.loads(home.files.read_bytes(tag))["version"])


def _manifests(stored: Iterable[Path]) -> dict[int, Path]:
    """Return version → its manifest, which is named by the number, or in newer tables by what is left to 2^64 - 1."""
    found = {int(path.stem): path for path in stored if path.suffix == ".manifest" and path.stem.isdecimal()}
    return {2**64 - 1 - number if number >= 2**63 else number: path for number, path in found.items()}


def _named_in(home: Home, manifest: Path, stored: Iterable[Path]) -> list[Path]:
    """Return the files of its table that a manifest names; raises OSError."""
    content, table = home.files.read_bytes(manifest), manifest.parent.parent
    # The footer of 16 bytes says where the list of data files begins; before it, files of other versions may be named.
    listed = content[int.from_bytes(content[-16:-8], "little") :]

    def is_named(path: Path) -> bool:
        match path.relative_to(table).parts[0]:
            case "data":
                return path.name.encode() in listed
            case "_deletions":
                return _varint(int(path.stem.split("-")[-1])) in listed
            case "_indices":
                return UUID(path.parent.name).bytes in content
            case folder if folder == _TRANSACTIONS:
                return path.name.encode() in content
        return False

    # A killed write leaves a temporary file, `.tmp` and six characters.
    return [path for path in stored if not path.name.startswith(".") and is_named(path)]


def _varint(number: int) -> bytes:
    """Return a number as Protocol Buffers encode it."""
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def _require_same(table: str, version: int, paths: Collection[Path], counted: dict[str, Any]) -> None:
    """Check that the files of a version are as many as LanceDB counts; raises StoreError."""
    for folder, name in (("data", "total_data_files"), ("_deletions", "total_deletion_files")):
        if sum(path.parent.name == folder for path in paths) != int(counted[name]):
            raise StoreError(
                f"vector table {table} has other files in version {version} than LanceDB counts; nothing of it was "
                "removed: this version of lancedb is not known, so tell the authors of lightrag-dagster"
            )


def _is_worth_a_rewrite(counted: dict[str, Any]) -> bool:
    """Say whether many rows are deleted ones, or the table has many parts. Snapshots keep the files from before."""
    deleted = int(counted["total_deletion_file_rows"])
    stored = int(counted["total_data_file_rows"])
    return deleted > MAX_DELETED_SHARE * stored or int(counted["total_fragments"]) > MAX_FRAGMENTS
