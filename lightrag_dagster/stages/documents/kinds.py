"""The format by which a file of a source is read: by the settings of the source, its name, or its content."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from posixpath import splitext

from lightrag_dagster.core.globs import matches
from lightrag_dagster.errors import SourceError
from lightrag_dagster.readers import format_of, is_told_by_content, kind_of_packed, recognise, suffixes
from lightrag_dagster.stages.documents.connectors.origin import ListedFile

Kinds = tuple[tuple[str, str], ...]
"""Pairs of a glob and the suffix by which a file is read that matches it."""

_TEXT, _PLAIN = "text", ".txt"


def kinds_of(source: str, types: Mapping[str, str]) -> Kinds:
    """Return the types that the settings of a source name; raises SourceError for an unknown one."""
    found = []
    for glob, name in types.items():
        suffix = _PLAIN if name == _TEXT else f".{name}"
        if format_of(suffix) is None:
            known = ", ".join(sorted(one.removeprefix(".") for one in suffixes()))
            raise SourceError(f"source {source!r}: types: {glob}: {name!r} is not known; known are {_TEXT}, {known}")
        found.append((glob, suffix))
    return tuple(found)


def with_kind(listed: ListedFile, kinds: Kinds, *, below: int) -> ListedFile:
    """Return a file with the suffix of its format, or with the reason why it cannot be read.

    A format of `kinds` is a part of the stamp, so that the file is read again when that changes. Globs are of the path
    without its first `below` parts.
    """
    path = listed.path.split("/", below)[-1] if kinds else ""
    kind = next((suffix for glob, suffix in kinds if matches(path, glob)), "")
    if kind and not listed.refused:
        listed = replace(listed, kind=kind, stamp=f"{listed.stamp}{kind}")
    elif not listed.kind and (kind := kind_of_packed(listed.path)):
        listed = replace(listed, kind=kind)
    if listed.refused or format_of(listed.file_name) or (not listed.kind and is_told_by_content(listed.path)):
        return listed
    return replace(listed, place="", refused=_unsupported(_ending(listed.file_name)))


def recognised(listed: ListedFile, data: bytes | OSError, most: int) -> tuple[ListedFile, bytes | OSError, str | None]:
    """Return a file with the format that its bytes tell, and these unpacked, or with the reason why it is not read.

    A note about bytes that are left out comes last.
    """
    if listed.refused is not None or isinstance(data, OSError):
        return listed, data, None
    try:
        data, kind, note = recognise(data, listed.path, listed.kind, most)
    except ValueError as error:
        return replace(listed, kind=listed.kind or _PLAIN, refused=str(error)), data, None
    if kind != listed.kind:
        listed = replace(listed, kind=kind)
    return (listed if format_of(listed.file_name) else replace(listed, refused=_unsupported(""))), data, note


def _ending(path: str) -> str:
    """Return the suffix of a path, of a packed file that of what is in it too: `.tar.gz`."""
    name, suffix = splitext(path.lower())
    return splitext(name)[1] + suffix if suffix == ".gz" else suffix


@cache
def _unsupported(suffix: str) -> str:
    what = suffix or "without suffix, and no text"
    return f"unsupported file type ({what}); docs/sources.md lists those that can be read"
