"""Texts of many slides that belong to none: slide numbers, dates, headers and footers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pptx.enum.shapes import PP_PLACEHOLDER

from lightrag_dagster.readers.office.slides.texts import prepare, text_of

_RUNNING = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER)
_FEWEST = 3  # slides, of which more than half have the same text at the same place


class RunningTexts:
    """The running texts of a deck; `left_out` has those that its slides were read without."""

    def __init__(self, slides: Sequence[Any]) -> None:
        """Find the texts that repeat, and make elements known that python-pptx passes over."""
        self.left_out: list[str] = []
        self._slides = len(slides)
        for slide in slides:
            prepare(slide._element)
        self._times = Counter[object]()
        self._looks: dict[Any, _Look] = {}
        for slide in slides:
            self._times.update({self._look(shape).key for shape in slide.shapes} - {None})

    def without(self, shapes: Iterable[Any]) -> Iterator[Any]:
        """Yield the shapes that belong to their slide alone."""
        for shape in shapes:
            if self._runs(shape):
                self.left_out.append(text_of(shape))
            else:
                yield shape

    def _runs(self, shape: Any) -> bool:
        kind, key = self._look(shape)
        if shape.has_text_frame and (kind == PP_PLACEHOLDER.SLIDE_NUMBER or _is_number(shape)):
            return True
        times = self._times[key]
        return times > 1 if kind in _RUNNING else times >= _FEWEST and 2 * times > self._slides

    def _look(self, shape: Any) -> "_Look":
        """Return what is compared of a shape, which the library has to search for."""
        element = shape._element
        if element not in self._looks:
            kind = _kind(shape)
            self._looks[element] = _Look(kind, _key(shape, kind))
        return self._looks[element]


class _Look(NamedTuple):
    """The kind of a placeholder, and what a running text has in common on all slides."""

    kind: Any
    key: tuple[object, ...] | None


def _key(shape: Any, kind: Any) -> tuple[object, ...] | None:
    """Return what a running text has in common on all slides, and None for a shape that cannot be one.

    That is the text, and for other shapes than placeholders the place.
    """
    element = shape._element
    if not shape.has_text_frame or (kind is not None and kind not in _RUNNING):
        return None
    return (text_of(shape), *(() if kind else (element.x, element.y)))


def _kind(shape: Any) -> Any:
    """Return the kind of a placeholder; None for another shape."""
    placeholder = shape._element.ph
    return placeholder.type if placeholder is not None else None


def _is_number(shape: Any) -> bool:
    """Return True if a field with the number of the slide is all that a shape says."""
    body = shape._element.txBody
    fields = body.findall("{*}p/{*}fld") if body is not None else []
    return bool(fields) and body.find("{*}p/{*}r") is None and all(one.get("type") == "slidenum" for one in fields)
