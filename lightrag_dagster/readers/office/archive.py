"""Documents that are ZIP archives of XML: the common parts of Office, OpenDocument and EPUB files."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from lightrag_dagster.readers.content import NO_PROPERTIES, Properties, UnreadableError, make_properties

DAMAGED = "damaged or cut short; copy the file again, or open it in its own program and save it"

_MAX_RATIO, _SMALL = 200, 10_000_000  # documents stay below; the second in bytes
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_NAMES = {
    "title": ("title",),
    "author": ("creator", "initial-creator"),
    "day": ("created", "creation-date", "date"),
    "tags": ("keywords", "keyword", "subject"),
    "language": ("language",),
}
"""Elements of Dublin Core, as Office, OpenDocument and EPUB use them."""


class RelatedPart(NamedTuple):
    """A part that another one refers to, or a URL, and what kind of part it is, such as `comments`."""

    kind: str
    part: str


_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)


@lru_cache(maxsize=1)  # the reader of a file and the check of what it lost open the same one
def _opened(data: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data))


@contextmanager
def open_archive(data: bytes, needed: str) -> Iterator[zipfile.ZipFile]:
    """Open the archive of a document, which must have a part of the name `needed`.

    Raises:
        UnreadableError: it is not such an archive, or is damaged, also when a part is read in the block.
    """
    if not data:
        raise UnreadableError("the file is empty: it has 0 bytes")
    if data.startswith(_COMPOUND_FILE):
        raise UnreadableError(
            "protected by a password, or in a format from before 2007; save a copy without password in today's format"
        )
    if not data.startswith(b"PK"):
        raise UnreadableError("not what its suffix says: no ZIP archive; give the file its own suffix")
    try:
        archive = _opened(data)
        if needed not in archive.NameToInfo:
            raise UnreadableError(f"not what its suffix says: an archive without {needed}")
        if any(part.file_size > max(_SMALL, _MAX_RATIO * part.compress_size) for part in archive.filelist):
            raise UnreadableError(
                f"a part unpacks to more than {_MAX_RATIO} times its size: a ZIP bomb; remove the file"
            )
        yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, etree.XMLSyntaxError) as error:
        raise UnreadableError(DAMAGED) from error


def parse_part(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """Parse one part; entities are not resolved, and nothing outside the archive is read."""
    return etree.fromstring(archive.read(name), _PARSER)


def relations(archive: zipfile.ZipFile, part: str) -> dict[str, RelatedPart]:
    """Return what a part refers to, or for "" the whole file, by the ids that it gives them."""
    folder, name = posixpath.split(part)
    listed = posixpath.join(folder, "_rels", f"{name}.rels")
    found = dict[str, RelatedPart]()
    for one in parse_part(archive, listed).iterfind("{*}Relationship") if listed in archive.NameToInfo else ():
        target = one.get("Target", "")
        if one.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        found[one.get("Id", "")] = RelatedPart(one.get("Type", "").rpartition("/")[2], target)
    return found


def by_kind(related: dict[str, RelatedPart]) -> dict[str, str]:
    """Return the first related part of each kind."""
    return {one.kind: one.part for one in reversed(related.values())}


def embedded(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of the files in an Office document, without the tables behind its charts."""
    links = b"".join(archive.read(name) for name in archive.namelist() if "/charts/_rels/" in name)
    names = [name.rpartition("/")[2] for name in archive.namelist() if "/embeddings/" in name]
    return [name for name in names if name and f"embeddings/{name}".encode() not in links]


def with_parts(archive: zipfile.ZipFile, parts: Mapping[str, bytes]) -> bytes:
    """Return an archive with some parts replaced, by name."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, parts.get(name) or archive.read(name))
    return data.getvalue()


def read_properties(archive: zipfile.ZipFile, part: str) -> Properties:
    """Return the properties in a part with elements of Dublin Core; none without the part."""
    if part not in archive.namelist():
        return NO_PROPERTIES
    said: dict[str, list[str]] = {}
    for element in parse_part(archive, part).iter(etree.Element):
        if element.text and element.text.strip():
            said.setdefault(element.tag.rpartition("}")[2], []).append(element.text)
    values = {kind: [value for name in names for value in said.get(name, [])] for kind, names in _NAMES.items()}
    first = {kind: next(iter(found), None) for kind, found in values.items()}
    return make_properties(first["title"], first["author"], first["day"], ", ".join(values["tags"]), first["language"])
