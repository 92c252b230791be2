"""Documents of another system as files of a source: safe paths, and no change to what a person changed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.identity import digest, text_digest
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.sanitise import sanitise, visible
from lightrag_dagster.imports.stored import StoredDocument, valid
from lightrag_dagster.readers import Limits, ReadingOptions, extract, has_headings, media_type
from lightrag_dagster.stages.documents.connectors.origin import UNFIT_CHARACTERS
from lightrag_dagster.storage.files.atomic import replacing, write_text

RECORD = ".imported"
"""The hidden file of a source, a line for each imported file: hashes of its path, its text, its id and path there."""

_UNFIT = re.compile(rf'{UNFIT_CHARACTERS.pattern}|[<>:"|?*]')
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_TEXTS = {"text/plain", "text/markdown"}
_LONGEST, _DEEPEST = 180, 8  # bytes of a name, names of a path


@dataclass
class WrittenDocuments:
    """The number of documents by what became of them, and the first path of each.

    They are `new`, `changed` there and taken, or `unchanged`; those that `differ` from a file that a person wrote or
    changed here, and those `removed here`, stay as they are. `empty` and `too large` ones are left out. Some of these
    count as `renamed` as well: their path is not that which they had, but a safe one, or one of their own; new ones as
    `beside` as well: others had their path, are gone there, and may be what they were before. Those that an import
    before had, and this one has not, are `deleted there`; their files stay.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: str, path: str) -> None:
        """Count a document."""
        self.counts[outcome] += 1
        self.first.setdefault(outcome, path)


class _ImportedFile(NamedTuple):
    """The hashes of a file's path, and of the text and the path there of the document that it was imported from."""

    path: str
    text: str
    name: str


def write_documents(
    folder: Path, documents: Callable[[], Iterable[StoredDocument]], most: int, *, is_whole: bool = True
) -> WrittenDocuments:
    """Write documents into the folder of a source, of at most `most` bytes each, in any order; raises StoreError.

    One keeps the path that an import before gave its id. `documents` gives all of them each time; if not `is_whole`,
    there are others, so that none is taken for gone.
    """
    record, written = _read(folder / RECORD), WrittenDocuments()
    paths = _place(folder, documents(), record, most, written, is_whole=is_whole)
    for one in documents():
        identity, text = digest(one.id), valid(one.text)
        if (path := paths.pop(identity, None)) is None:
            continue
        outcome = _write(folder, path, text, record[identity].text) if path else "removed here"
        path = path or safe_path(one.path)
        written.add(outcome, path)
        if one.path and not composed(path).startswith(composed(one.path).lstrip("/")):
            written.add("renamed", path)
        if outcome in ("new", "changed", "unchanged"):
            record[identity] = record[identity]._replace(text=text_digest(text), name=_name(one))
    lines = sorted(f"{path} {text} {identity} {name}\n" for identity, (path, text, name) in record.items() if text)
    write_text(folder / RECORD, "".join(lines))
    return written


def _place(
    folder: Path,
    documents: Iterable[StoredDocument],
    record: dict[str, _ImportedFile],
    most: int,
    written: WrittenDocuments,
    *,
    is_whole: bool,
) -> dict[str, str]:
    """Return the path of each document by the hash of its id, empty if its file was removed here.

    New ones are added to the record, without a text. Those left out are counted.
    """
    relative = (one.relative_to(folder).as_posix() for one in folder.rglob("*"))
    here = {digest(composed(path)): path for path in relative}
    ids, paths, new = set[str](), dict[str, str](), list[tuple[str, str, str]]()
    for one in documents:
        identity, text = digest(one.id), valid(one.text)
        if identity in ids:
            continue
        ids.add(identity)
        if not text.strip() or len(text.encode()) > most:
            written.add("too large" if text.strip() else "empty", _path_of(one, text))
        elif entry := record.get(identity):
            paths[identity] = here.get(entry.path, "")
        else:
            new.append((_path_of(one, text), identity, _name(one)))
    before = {entry.name: identity for identity, entry in record.items() if identity not in ids}
    gone = Counter(entry.name for identity, entry in record.items() if identity not in ids)
    added = Counter(name for *_, name in new)
    taken = {here[entry.path].casefold() for entry in record.values() if entry.path in here}
    known = {entry.path for entry in record.values()}
    for path, identity, name in sorted(new):
        if is_whole and added[name] == gone[name] == 1:  # edited there, which gave it another id
            record[identity] = record.pop(before[name])
            paths[identity] = here.get(record[identity].path, "")
            continue
        path = next(one for one in _paths(path, identity) if one.casefold() not in taken and digest(one) not in known)
        taken.add(path.casefold())
        paths[identity], record[identity] = path, _ImportedFile(digest(path), "", name)
        if gone[name]:
            written.add("beside", path)
    left = (here[entry.path] for identity, entry in record.items() if identity not in ids and entry.path in here)
    for path in sorted(left) if is_whole else ():
        written.add("deleted there", path)
    return paths


def _paths(path: str, mark: str) -> Iterator[str]:
    """Yield the paths that a document may have, of which it gets the first that is free."""
    yield path
    stem, dot, suffix = path.rpartition(".")
    while mark := digest(mark):
        yield f"{stem}~{mark[:8]}{dot}{suffix}"


def _name(one: StoredDocument) -> str:
    """Return the hash of the path there, which several documents may have."""
    return digest(one.path or one.id)


def safe_path(name: str) -> str:
    """Return a relative path that every system takes, of any name; empty if nothing is left of it."""
    parts = [_safe_name(part) for part in re.split(r"[/\\]", valid(name))]
    return "/".join([part for part in parts if part][-_DEEPEST:])


def _safe_name(name: str) -> str:
    name = visible(composed(_UNFIT.sub("_", name))).strip(" .")
    if len(name.encode()) > _LONGEST:
        name = name.encode()[:_LONGEST].decode(errors="ignore") + f"~{digest(name)[:8]}"
    return f"_{name}" if _DEVICE.fullmatch(name) else name


def _path_of(one: StoredDocument, text: str) -> str:
    """Return the path of a document that is alone; a file of another kind gets a suffix of text."""
    *folders, name = (safe_path(one.path) or safe_path(one.id) or digest(one.id)).split("/")
    folders = [f"{part}_" if media_type(part) in _TEXTS else part for part in folders]  # so that none is a file
    name += "" if media_type(name) in _TEXTS and _reads_as_is(name, text) else _suffix(name, text)
    return "/".join([*folders, name])


def _suffix(name: str, text: str) -> str:
    """Return .md for Markdown, as of pages and office files, that is read without a change; else .txt."""
    is_markdown = media_type(name) != "text/markdown" and has_headings(media_type(name)) and _HEADING.search(text)
    return ".md" if is_markdown and _reads_as_is("a.md", text) else ".txt"


def _reads_as_is(name: str, text: str) -> bool:
    """Say whether a reader of text finds just this text; front matter would be cut off."""
    if media_type(name) == "text/plain":
        return True
    try:
        return extract(text.encode(), name, ReadingOptions(), Limits(60.0, 1024)).text == sanitise(text)
    except ValueError:
        return False


def _write(folder: Path, path: str, text: str, before: str) -> str:
    """Write a document, unless a person changed or removed its file, or it is there; return what became of it."""
    target, now = folder / path, text_digest(text)
    if not _may_be_at(target, folder):
        return "differ"
    here = text_digest(target.read_bytes().decode("utf-8", "replace")) if target.exists() else before
    if here not in (now, before):
        return "differ"
    if here == now:
        return "unchanged"
    with replacing(target) as temporary:
        temporary.write_bytes(text.encode())
    return "changed" if before else "new"


def _may_be_at(target: Path, folder: Path) -> bool:
    """Say whether a place is free or has a file that can be compared: no link, and nothing in its way."""
    if target.is_symlink() or not target.parent.resolve().is_relative_to(folder.resolve()):
        return False
    above = [folder / one for one in target.relative_to(folder).parents]
    return all(one.is_dir() or not one.exists() for one in above) and (target.is_file() or not target.exists())


def _read(path: Path) -> dict[str, _ImportedFile]:
    """Return the record of an earlier import by the hashes of ids."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines() if path.is_file() else []
    fields = (line.split() for line in lines)
    return {entry[2]: _ImportedFile(entry[0], entry[1], entry[3]) for entry in fields if len(entry) == 4}
