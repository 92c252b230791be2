"""The `raw_documents` table of one source."""

import heapq
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import identity
from lightrag_dagster.core.in_time import map_in_order
from lightrag_dagster.core.text.sanitise import FORBIDDEN
from lightrag_dagster.readers import (
    ExtractedText,
    Limits,
    ReadingOptions,
    detect_language,
    extract,
    find_elements,
    format_of,
    has_headings,
    media_type,
    why_skipped,
)
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.captions import Describing, with_descriptions
from lightrag_dagster.stages.documents.connectors.origin import ListedFile
from lightrag_dagster.stages.documents.kinds import recognised
from lightrag_dagster.stages.documents.masking import Mask, with_mask
from lightrag_dagster.stages.facts.columns import FACTS_FOLLOW, with_lines

KEPT = ("processed", "duplicate", "stale")
"""The statuses of documents that have text, and so chunks."""

UNOPENED = "cannot be read: "
"""The beginning of the reason of a document that could not be opened, which may pass."""

Told = tuple[ListedFile, bytes | OSError, str | None]
"""A listed file with its bytes, or the reason why it has none, and a note about bytes that are left out."""

MAX_REPORTED = 20
"""Most documents that a run names for each reason."""

_SLOW = 0.1  # seconds; faster files are never among the slowest
_SUMMARY_LENGTH = 250
_DAY = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)([-_.]|(?<=19[7-9]\d|20[0-2]\d|203[0-7]))(?P<m>\d\d)\2(?P<d>\d\d)(?!\d)"
    r"|(?<!\d)(?<!\d\.)(\d\d)\.(\d\d)\.((?:19|20)\d\d)(?!\.?\d)"
)
_PARSERS = 2  # processes; an engine with workers has this number in each
_AHEAD = 8  # files in memory


class Slow(NamedTuple):
    """The time to turn a file into a row, including descriptions of its images. Seconds."""

    seconds: float
    path: str


def read_documents(
    source: str,
    files: Iterable[tuple[ListedFile, bytes | OSError]],
    previous: pa.Table | None,
    settings: DocumentSettings,
    describing: Describing | None = None,
    mask: Mask | None = None,
) -> tuple[pa.Table, list[Slow]]:
    """Return a row of RAW_DOCUMENTS for every listed file, in their order, and the slow ones; none is a duplicate yet.

    With `describing`, images in the text have descriptions; the reason for missing ones is the document's `error`. With
    a `mask`, its texts are those of the rows, and images are left out, since it does not see them.

    Each comes with its first bytes, up to one more than may be read, or with the reason why it cannot be read: then it
    keeps its row of `previous`, if that had text, as `stale`. Any other fault of a file is a `failed` row; a file of an
    unsupported type is `skipped`. A row that is otherwise equal to that of `previous` keeps its `modified_at`, so that
    a copy of a source, with new times, is the same table.
    """
    told = (recognised(listed, data, settings.max_bytes) for listed, data in files)
    describing = None if mask else describing
    make_row = partial(_row, source, previous, settings, describing, mask)
    rows = list(map_in_order(partial(_timed_row, make_row), told, _PARSERS, ahead=_AHEAD))
    for row in rows:  # all at once: the model stays in the processor's cache, which halves the time
        row["language"] = detect_language(row["content"]) or row["language"]
    _keep_times(rows, previous)
    slow = (Slow(row["seconds"], row["path"]) for row in rows if row["seconds"] >= _SLOW)
    return pa.Table.from_pylist(rows, schema=RAW_DOCUMENTS), heapq.nlargest(MAX_REPORTED, slow)


def with_text(documents: pa.Table) -> pa.Table:
    """Return the rows of RAW_DOCUMENTS whose status is one of `KEPT`."""
    return documents.filter(pc.is_in(documents["status"], pa.array(KEPT)))


def text_hash(document: Mapping[str, Any]) -> str:
    """Return a hash of the values of a RAW_DOCUMENTS row that decide its chunks: text, media type and pages."""
    pages = [document["pages"]] if document["pages"] else []
    return identity.digest(document["content_hash"], document["media_type"], *pages)


def _timed_row(make_row: Callable[[Told], dict[str, Any]], file: Told) -> dict[str, Any]:
    """Return a row and the seconds that it took."""
    started = time.perf_counter()
    return make_row(file) | {"seconds": time.perf_counter() - started}


def _row(
    source: str,
    previous: pa.Table | None,
    settings: DocumentSettings,
    describing: Describing | None,
    mask: Mask | None,
    file: Told,
) -> dict[str, Any]:
    listed, data, note = file
    if listed.refused is not None:
        unread = format_of(listed.file_name) is None or why_skipped(listed.file_name, images=settings.reads_images)
        return _failed(source, listed, listed.refused, "skipped" if unread else "failed")
    if isinstance(data, OSError):
        reason = f"{UNOPENED}{data.strerror or type(data).__name__}"
        return _stale(listed, previous, reason) or _failed(source, listed, reason)
    if len(data) > settings.max_bytes:
        return _failed(source, listed, f"larger than documents.max_bytes = {settings.max_bytes}")
    data, *stated = data.rsplit(FACTS_FOLLOW, 1)
    lines = FORBIDDEN.sub("", b"".join(stated).decode("utf-8", "replace"))  # any file may have these bytes
    try:
        extracted = _extract(data, listed.file_name, settings, figures=describing is not None)
        extracted, lines = (with_mask(extracted, mask), mask(lines)) if mask else (extracted, lines)
    except ValueError as error:
        return _failed(source, listed, str(error))
    if extracted.properties.switched_off:
        extracted = replace(extracted, text="", pages=())
        reason = f"switched off by its front matter: {extracted.properties.switched_off}"
        return _new_row(source, listed, extracted, status="disabled", error=reason)
    problem = recipe = None
    if describing and extracted.figures:
        before = _earlier_row(listed, previous) if describing.keep else None
        extracted, problem, kept = with_descriptions(
            extracted, describing.describe, before["content"] if before else ""
        )
        recipe = before.get("recipe") if before and kept else describing.recipe
    extracted = replace(extracted, text=with_lines(extracted.text, lines)) if stated else extracted
    if not extracted.text:
        problem = problem or extracted.why_empty or ("no text was found in it" if data else "it has no bytes")
    problem = "; ".join(filter(None, (problem, note, extracted.note))) or None
    status = "processed" if extracted.text else "empty"
    return _new_row(source, listed, extracted, status=status, error=problem) | {"recipe": recipe}


def _extract(data: bytes, path: str, settings: DocumentSettings, *, figures: bool) -> ExtractedText:
    keep = settings.keep_repeated_lines
    options = ReadingOptions(settings.recognise_text, figures, settings.pdf_reader, keep_repeated_lines=keep)
    extracted = extract(data, path, options, Limits(settings.max_seconds, settings.max_memory_mb))
    if len(extracted.text) > settings.max_bytes:
        raise ValueError(f"its text is longer than documents.max_bytes = {settings.max_bytes}; raise it, or divide it")
    return extracted


def _failed(source: str, listed: ListedFile, reason: str, status: str = "failed") -> dict[str, Any]:
    name = listed.path.rpartition("/")[2]
    return _new_row(source, listed, ExtractedText(name, "", media_type(listed.file_name)), status=status, error=reason)


def _stale(listed: ListedFile, previous: pa.Table | None, reason: str) -> dict[str, Any] | None:
    row = _earlier_row(listed, previous)
    return row | {"status": "stale", "error": reason, "duplicate_of": None} if row else None


def _earlier_row(listed: ListedFile, previous: pa.Table | None) -> dict[str, Any] | None:
    """Return the earlier row of a file, if that had text."""
    at = pc.index(previous["path"], listed.path).as_py() if previous is not None else -1
    if previous is None or at < 0:
        return None
    rows: list[dict[str, Any]] = with_text(previous.slice(at, 1)).to_pylist()
    return rows[0] if rows else None


def _new_row(
    source: str, listed: ListedFile, extracted: ExtractedText, *, status: str, error: str | None = None
) -> dict[str, Any]:
    text, said, losses = extracted.text, extracted.properties, extracted.losses
    name = listed.path.rpartition("/")[2]
    days = [day for day in (said.date, _day_in(name)) if day]
    return {
        "source": source,
        "doc_id": identity.document_id(source, listed.path),
        "path": listed.path,
        "title": name if extracted.title == name + listed.kind else extracted.title,
        "content": text,
        "content_hash": identity.text_digest(text) if text else "",
        "content_length": len(text),
        "summary": text[:_SUMMARY_LENGTH] + "..." if len(text) > _SUMMARY_LENGTH else text,
        "media_type": extracted.media_type,
        "pages": extracted.pages or None,
        "elements": _elements(text, extracted.media_type),
        "author": said.author,
        # A PDF may be a later scan.
        "date": min(days, default=None) if extracted.media_type == "application/pdf" else next(iter(days), None),
        "tags": list(said.tags) or None,
        "access": None,  # which nothing in the document says
        "language": said.language,
        "status": status,
        "duplicate_of": None,
        "error": error,
        "file_words": losses.words if losses else None,
        "lost_words": losses.lost if losses else None,
        "lost_example": (losses.example or None) if losses else None,
        "recipe": None,
        "modified_at": listed.modified_at,
    }


def _day_in(name: str) -> date | None:
    """Return the first day in the name of a file, as in `20240312-survey.md`; years of this century and the last."""
    for found in _DAY.finditer(name):
        with suppress(ValueError):  # such as a version 2024.13.40
            return date(*map(int, found.group("y", "m", "d") if found["y"] else found.group(7, 6, 5)))
    return None


def _elements(text: str, media_type: str) -> list[dict[str, Any]] | None:
    found = find_elements(text) if has_headings(media_type) else []
    return [one._asdict() for one in found] or None


def _keep_times(rows: list[dict[str, Any]], previous: pa.Table | None) -> None:
    if previous is None or not rows:
        return
    previous = previous.filter(pc.is_in(previous["path"], pa.array([row["path"] for row in rows])))
    columns = ["path", "title", "content_hash", "media_type", "author", "date", "tags", "language", "error"]
    known = zip(*(previous[name].to_pylist() for name in (*columns, "modified_at")), strict=True)
    times = {str(said): modified_at for *said, modified_at in known}
    for row in rows:
        row["modified_at"] = times.get(str([row[name] for name in columns]), row["modified_at"])
