"""The parts of a Word file, by their relationships: names and folders are free."""

import posixpath
import zipfile
from dataclasses import dataclass

from lightrag_dagster.readers.office.word.xml import parse

CONTENT_TYPES = "[Content_Types].xml"


@dataclass(frozen=True)
class Relations:
    """The relationships of a part: the name of the part, or a URL, by identifier and by type."""

    by_id: dict[str, str]
    by_type: dict[str, str]


def main_part(archive: zipfile.ZipFile) -> str:
    """Return the name of the document itself."""
    return relations(archive, "").by_type.get("officeDocument", "word/document.xml")


def relations(archive: zipfile.ZipFile, part: str) -> Relations:
    """Return the relationships of a part, or for "" those of the whole file."""
    folder, name = posixpath.split(part)
    listed = posixpath.join(folder, "_rels", f"{name}.rels")
    by_id, by_type = dict[str, str](), dict[str, str]()
    if listed in archive.namelist():
        for one in parse(archive.read(listed)).iter("{*}Relationship"):
            target = one.get("Target") or ""
            if one.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            by_id[one.get("Id") or ""] = target
            by_type.setdefault((one.get("Type") or "").rpartition("/")[2], target)
    return Relations(by_id, by_type)
