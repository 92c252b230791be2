"""Descriptions of a document's images, put in their places in its text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from lightrag_dagster.stages.documents.formats.content import Figure
from lightrag_dagster.stages.documents.formats.extraction import ExtractedText
from lightrag_dagster.stages.documents.formats.figures import as_caption, find_marks, mark_of

NOT_YET = "not described yet"
"""What the error of a document says whose images are asked about again by the next run."""

_NOTHING = {"", "-", "–", "—"}


class Description(NamedTuple):
    """What a model says of an image; or why it says nothing, and whether it is to be asked again.

    `name` is what the image is called in the text, part of the key of the stored answer.
    """

    text: str
    error: str | None = None
    again: bool = False
    name: str = ""


Describe = Callable[[Sequence[tuple[Figure, str]]], Sequence[Description]]
"""Describes images, each given with its caption."""


def with_descriptions(extracted: ExtractedText, describe: Describe) -> tuple[ExtractedText, str | None]:
    """Return a text whose images have what they show as their alternative text, and why some have not.

    An image that has neither caption nor description is no more in the text.
    """
    figures = {figure.name: figure for figure in extracted.figures}
    marks = [mark for mark in find_marks(extracted.text) if mark[3] in figures]
    described = describe([(figures[name], caption) for _, _, caption, name in marks])
    edits, done = [], 0
    for (start, end, caption, name), description in zip(marks, described, strict=True):
        said = as_caption(description.text)
        said = ": ".join(filter(None, (caption, "" if said in _NOTHING else said)))
        name = description.name or name
        edits.append(_Edit(start, end, mark_of(said, name)) if said else _removal(extracted.text, done, start, end))
        done = edits[-1].end
    why_empty = extracted.why_empty or "no text, and no description of its images"
    return replace(_edited(extracted, edits), why_empty=why_empty), _problem(described)


class _Edit(NamedTuple):
    """A change of a text: what takes the place of some characters."""

    start: int
    end: int
    new: str


def _removal(text: str, done: int, start: int, end: int) -> _Edit:
    """Return the change that removes a mark and the empty lines before it, but nothing before `done`."""
    while start > done and text[start - 1] == "\n" and text[end : end + 1] in ("", "\n"):
        start -= 1
    while start == 0 and text[end : end + 1] == "\n":
        end += 1
    return _Edit(start, end, "")


def _edited(extracted: ExtractedText, edits: Sequence[_Edit]) -> ExtractedText:
    """Return a text with changes, which are in order; its pages begin where they did."""
    parts, done = list[str](), 0
    for start, end, new in edits:
        parts += [extracted.text[done:start], new]
        done = end

    def moved(page: int) -> int:
        longer = 0
        for start, end, new in edits:
            if page >= end:
                longer += len(new) - (end - start)
            elif page > start:
                return start + longer
        return page + longer

    return replace(extracted, text="".join([*parts, extracted.text[done:]]), pages=tuple(map(moved, extracted.pages)))


def _problem(described: Sequence[Description]) -> str | None:
    """Return how many images have no description, and the first reason."""
    failed = [one for one in described if one.error]
    if not failed:
        return None
    later = [one for one in failed if one.again]
    what = NOT_YET if later else "not described"
    return f"{len(failed)} of {len(described)} images are {what}: {(later or failed)[0].error}"
