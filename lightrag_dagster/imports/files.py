"""Documents of another system as files of a source: safe paths, and no change to what a person changed."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

    They are `new`, `changed` there and taken, or `unchanged`; those that `differ` from a file that was changed here,
    and those `removed here`, stay as they are. `empty` and `too large` ones are left out. Some of these count
    as `renamed` as well: their path is not that which they had, but a safe one, or one of their own; new ones as
    `beside` as well: others had their path, are gone there, and may be what they were before.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: str, path: str) -> None:
        """Count a document."""
        self.counts[outcome] += 1
        self.first.setdefault(outcome, path)


class _ImportedFile(NamedTuple):
    """The hashes of a document as it was imported: of its text, of its id and of its path there."""

    text: str
    id: str
    name: str


class _New(NamedTuple):
    """A document whose id no import before had: the path that it would have alone, and the hash of its text."""

    id: str
    path: str
    text: str


def write_documents(folder: Path, documents: Callable[[], Iterable[StoredDocument]], most: int) -> WrittenDocuments:
    """Write documents into the folder of a source, of at most `most` bytes each, in any order; raises StoreError.

    One keeps the path that an import before gave its id. `documents` gives all of them each time.
    """
    record, written = _read(folder / RECORD), WrittenDocuments()
    keys, paths = _place(folder, documents(), record, most, written)
    for one in documents():
        identity, text = digest(one.id), valid(one.text)
        if key := keys.pop(identity, None):
            path = paths.get(key) or safe_path(one.path)
            if one.path and not path.startswith(composed(one.path).lstrip("/")):
                written.add("renamed", path)
            before = record[key].text if key in record else ""
            outcome = _write(folder, path, text, before) if key in paths else "removed here"
            written.add(outcome, path)
            if outcome in ("new", "changed", "unchanged"):
                record[key] = _ImportedFile(text_digest(text), identity, _name(one))
    write_text(folder / RECORD, "".join(f"{path} {' '.join(entry)}\n" for path, entry in sorted(record.items())))
    return written


def _place(
    folder: Path,
    documents: Iterable[StoredDocument],
    record: dict[str, _ImportedFile],
    most: int,
    written: WrittenDocuments,
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the key in the record of the file of each document, by the hash of its id, and the paths of files by keys.

    A file that was removed here has no path. Those left out are counted.
    """
    relative = (composed(one.relative_to(folder).as_posix()) for one in folder.rglob("*"))
    paths = {key: path for path in relative if (key := digest(path)) in record}
    known = {entry.id: key for key, entry in record.items()}
    ids, keys, new = set[str](), dict[str, str](), defaultdict[str, list[_New]](list)
    for one in documents:
        identity, text = digest(one.id), valid(one.text)
        if identity in ids:
            continue
        ids.add(identity)
        if not text.strip() or len(text.encode()) > most:
            written.add("too large" if text.strip() else "empty", _path_of(one, text))
        elif identity in known:
            keys[identity] = known[identity]
        else:
            new[_name(one)].append(_New(one.id, _path_of(one, text), text_digest(text)))
    gone = defaultdict[str, dict[str, str]](dict)
    for key, entry in sorted(record.items()):
        if entry.id not in ids:
            gone[entry.name][key] = entry.text
    taken = {path.casefold() for path in paths.values()}
    for name, those in sorted(new.items(), key=lambda item: min(item[1])):
        replaced = _replaced(sorted(those), gone[name], paths)
        for added in sorted(those):
            if key := replaced.get(added, ""):
                record[key] = record[key]._replace(id=digest(added.id))
            else:
                path = next(one for one in _paths(added) if one.casefold() not in taken and digest(one) not in record)
                taken.add(path.casefold())
                key = digest(path)
                paths[key] = path
                if len(gone[name]) > len(replaced):
                    written.add("beside", path)
            keys[digest(added.id)] = key
    return keys, paths


def _replaced(new: Sequence[_New], gone: Mapping[str, str], paths: Mapping[str, str]) -> dict[_New, str]:
    """Return the keys of files, of ids that are gone, whose documents have other ids now, of one path there.

    They have the same text, or there is one alone of both; files that are here come first.
    """
    of_text = {text: key for key, text in gone.items()}
    found = {one: key for one in new if (key := of_text.pop(one.text, None))}
    left, others = [one for one in new if one not in found], gone.keys() - found.values()
    others = others & paths.keys() or others
    return found | (dict(zip(left, others, strict=True)) if len(left) == len(others) == 1 else {})


def _paths(one: _New) -> Iterator[str]:
    """Yield the paths that a document may have, of which it gets the first that is free."""
    yield one.path
    (stem, dot, suffix), mark = one.path.rpartition("."), one.id
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
    if not target.exists() and before:
        return "removed here"
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
    """Return the record of an earlier import by the hashes of paths."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines() if path.is_file() else []
    fields = (line.split() for line in lines)
    return {key: _ImportedFile(*entry) for key, *entry in fields if len(entry) == len(_ImportedFile._fields)}
