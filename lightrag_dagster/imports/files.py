"""Documents of another system as files of a source: safe paths, and no change to what a person changed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lightrag_dagster.core.identity import digest, text_digest
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.core.text.sanitise import sanitise, visible
from lightrag_dagster.imports.stored import StoredDocument, valid
from lightrag_dagster.readers import Limits, ReadingOptions, extract, has_headings, media_type
from lightrag_dagster.stages.documents.connectors.origin import UNFIT_CHARACTERS
from lightrag_dagster.storage.files.atomic import replacing, write_text

RECORD = ".imported"
"""The hidden file of a source, a line for each imported file: hashes of its path and its text."""

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
    count as `renamed` as well: their path is not that which they had, but a safe one, or one of their own.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: str, path: str) -> None:
        """Count a document."""
        self.counts[outcome] += 1
        self.first.setdefault(outcome, path)


def write_documents(folder: Path, documents: Callable[[], Iterable[StoredDocument]], most: int) -> WrittenDocuments:
    """Write documents into the folder of a source, of at most `most` bytes each; raises StoreError.

    A file is that of the path there, as an import before left it. Documents that share a path have a part of their id
    in the names of their files; those that did before keep these. `documents` gives all of them each time.
    """
    record, written, taken = _read(folder / RECORD), WrittenDocuments(), set[str]()
    paths = {digest(one.id): _path_of(one, valid(one.text)) for one in documents()}
    shared = Counter(path.casefold() for path in paths.values())
    for one in documents():
        identity, text = digest(one.id), valid(one.text)
        if (path := paths.pop(identity, None)) is None:
            continue
        if not text.strip() or len(text.encode()) > most:
            written.add("too large" if text.strip() else "empty", path)
            continue
        apart = _apart(path, identity)
        is_shared = shared[path.casefold()] > 1 and record.get(digest(path)) != text_digest(text)
        if is_shared or digest(apart) in record:
            path = apart
        while path.casefold() in taken:
            path = _apart(path, digest(path))
        taken.add(path.casefold())
        outcome = _write(folder, path, text, record.get(digest(path), ""))
        written.add(outcome, path)
        if one.path and not path.startswith(composed(one.path).lstrip("/")):
            written.add("renamed", path)
        if outcome in ("new", "changed", "unchanged"):
            record[digest(path)] = text_digest(text)
    write_text(folder / RECORD, "".join(f"{path} {text}\n" for path, text in sorted(record.items())))
    return written


def _apart(path: str, mark: str) -> str:
    """Return a path of its own, by the first letters of a mark."""
    stem, dot, suffix = path.rpartition(".")
    return f"{stem}~{mark[:8]}{dot}{suffix}"


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
    if target.exists():
        here = text_digest(target.read_bytes().decode("utf-8", "replace"))
        if here == now:
            return "unchanged"
        if here != before:
            return "differ"
    elif before:
        return "removed here"
    with replacing(target) as temporary:
        temporary.write_bytes(text.encode())
    return "changed" if before else "new"


def _may_be_at(target: Path, folder: Path) -> bool:
    """Say whether a place is free or has a file that can be compared: no link, and nothing in its way."""
    if target.is_symlink() or not target.parent.resolve().is_relative_to(folder.resolve()):
        return False
    above = [folder / one for one in target.relative_to(folder).parents]
    return all(one.is_dir() or not one.exists() for one in above) and (target.is_file() or not target.exists())


def _read(path: Path) -> dict[str, str]:
    """Return the record of an earlier import: hashes of texts by those of paths."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines() if path.is_file() else []
    fields = (line.split() for line in lines)
    return {entry[0]: entry[1] for entry in fields if len(entry) > 1}
