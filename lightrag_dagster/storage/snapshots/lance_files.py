"""The files of LanceDB that one version of a vector table reads.

LanceDB says how many files a version has, and how large they are (`list_versions`), but not which; what lists them is
`pylance`, a second copy of the engine. So they are looked for in the manifest of the version: data files by their name,
deletion files by their random number, index folders by their UUID. A test compares them with what LanceDB counts.
"""

import json
from pathlib import Path
from uuid import UUID

from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.records import VectorTable


def tag_file(home: Home, entry: VectorTable) -> Path:
    """Return the file of the tag of a version."""
    return home.lance / f"{entry.table}.lance" / "_refs" / "tags" / f"{entry.tag}.json"


def files_of_version(home: Home, entry: VectorTable) -> dict[Path, int]:
    """Return the files that a tagged version reads, and their sizes in bytes; raises OSError."""
    table = home.lance / f"{entry.table}.lance"
    tag, stored = tag_file(home, entry), home.files.list_folder(table)
    version = json.loads(home.files.read_bytes(tag))["version"]
    names = (f"{version}.manifest", f"{2**64 - 1 - version}.manifest")
    path = next(path for name in names if (path := table / "_versions" / name) in stored)
    content = home.files.read_bytes(path)
    # The footer of 16 bytes says where the list of data files begins; before it, files of other versions may be named.
    listed = content[int.from_bytes(content[-16:-8], "little") :]

    def inside(folder: str) -> list[Path]:
        # A killed write leaves a temporary file, `.tmp` and six characters.
        return [one for one in stored if one.is_relative_to(table / folder) and not one.name.startswith(".")]

    data = [one for one in inside("data") if one.name.encode() in listed]
    deletions = [one for one in inside("_deletions") if _varint(int(one.stem.split("-")[-1])) in listed]
    indexes = [one for one in inside("_indices") if UUID(one.parent.name).bytes in content]
    return {one: stored[one].size for one in (tag, path, *data, *deletions, *indexes)}


def _varint(number: int) -> bytes:
    """Return a number as Protocol Buffers encode it."""
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])
