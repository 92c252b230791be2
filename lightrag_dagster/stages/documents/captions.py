"""Descriptions of a document's images, put in their places in its text."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from lightrag_dagster.core.text.figures import as_caption, described_name, find_marks, mark_of, subject_of
from lightrag_dagster.readers import ExtractedText, Figure

NOT_YET = "not described yet"
"""Part of the error of a document whose images the next run asks about again."""

_NOTHING = {"", "-", "–", "—"}


class Description(NamedTuple):
    """A model's description of an image; or the reason for a missing one, and whether to ask again.

    `name` is the name of the image in the text, part of the key of the stored answer.
    """

    text: str
    error: str | None = None
    again: bool = False
    name: str = ""


Describe = Callable[[Sequence[tuple[Figure, str]]], Sequence[Description]]


class Describing(NamedTuple):
    """The function that describes images, its recipe, and whether images keep earlier descriptions."""

    describe: Describe
    recipe: str
    keep: bool = True


class Described(NamedTuple):
    """A text with descriptions, the reason why some images have none, and whether some are from the earlier text."""

    extracted: ExtractedText
    problem: str | None
    kept: bool


def with_descriptions(extracted: ExtractedText, describe: Describe, earlier: str = "") -> Described:
    """Return a text whose images have their descriptions as alternative texts.

    An image that the `earlier` text of the document describes, under the same caption, keeps that description, from any
    model. One that has neither caption nor description is removed from the text.
    """
    figures = {figure.name: figure for figure in extracted.figures}
    marks = [mark for mark in find_marks(extracted.text) if mark[3] in figures]
    known = {subject_of(name): mark_of(said, name) for _, _, said, name in find_marks(earlier)}
    subjects = [subject_of(described_name(figures[name].digest, caption, "")) for _, _, caption, name in marks]
    described = describe(
        [
            (figures[name], caption)
            for (_, _, caption, name), one in zip(marks, subjects, strict=True)
            if one not in known
        ]
    )
    answers, edits, done = iter(described), list[_Edit](), 0
    for (start, end, caption, name), subject in zip(marks, subjects, strict=True):
        new = known[subject] if subject in known else _mark(caption, name, next(answers))
        edits.append(_Edit(start, end, new) if new else _removal(extracted.text, done, start, end))
        done = edits[-1].end
    why_empty = extracted.why_empty or "no text, and no description of its images"
    problem = _problem(described, len(marks))
    return Described(replace(_edited(extracted, edits), why_empty=why_empty), problem, len(described) < len(marks))


def _mark(caption: str, name: str, description: Description) -> str:
    """Return the placeholder of an image in the text; "" without caption and description."""
    said = as_caption(description.text)
    said = ": ".join(filter(None, (caption, "" if said in _NOTHING else said)))
    return mark_of(said, description.name or name) if said else ""


class _Edit(NamedTuple):
    """A change of a text: the replacement of some characters."""

    start: int
    end: int
    new: str


def _removal(text: str, done: int, start: int, end: int) -> _Edit:
    """Return the change that removes a mark and the empty lines between `done` and it."""
    while start > done and text[start - 1] == "\n" and text[end : end + 1] in ("", "\n"):
        start -= 1
    while start == 0 and text[end : end + 1] == "\n":
        end += 1
    return _Edit(start, end, "")


def _edited(extracted: ExtractedText, edits: Sequence[_Edit]) -> ExtractedText:
    """Return a text with changes, which are in order, and the new starts of its pages."""
    parts, pages = list[str](), list[int]()
    done, longer, left = 0, 0, deque(extracted.pages)
    for start, end, new in edits:
        parts += [extracted.text[done:start], new]
        while left and left[0] < end:
            pages.append(min(left.popleft(), start) + longer)
        done, longer = end, longer + len(new) - (end - start)
    pages += [page + longer for page in left]
    return replace(extracted, text="".join([*parts, extracted.text[done:]]), pages=tuple(pages))


def _problem(described: Sequence[Description], images: int) -> str | None:
    """Return the number of images without a description, and the first reason."""
    failed = [one for one in described if one.error]
    if not failed:
        return None
    later = [one for one in failed if one.again]
    what = NOT_YET if later else "not described"
    return f"{len(failed)} of {images} images are {what}: {(later or failed)[0].error}"
