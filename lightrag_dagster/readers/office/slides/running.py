"""Texts that stand on many slides and belong to none: slide numbers, dates, headers and footers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
        self._times = Counter(key for slide in slides for key in {_key(shape) for shape in slide.shapes})

    def without(self, shapes: Iterable[Any]) -> Iterator[Any]:
        """Yield the shapes that belong to their slide alone."""
        for shape in shapes:
            if self._runs(shape):
                self.left_out.append(text_of(shape))
            else:
                yield shape

    def _runs(self, shape: Any) -> bool:
        if not shape.has_text_frame:
            return False
        kind = _kind(shape)
        if kind == PP_PLACEHOLDER.SLIDE_NUMBER or _is_number(shape):
            return True
        times = self._times[_key(shape)]
        if kind in _RUNNING:
            return times > 1
        return not shape.is_placeholder and times >= _FEWEST and 2 * times > self._slides


def _key(shape: Any) -> tuple[object, ...]:
    """Return what a running text has in common on all slides: its text, and its place if it is no placeholder."""
    if not shape.has_text_frame:
        return ()
    return (text_of(shape), *((None,) if _kind(shape) in _RUNNING else (shape.left, shape.top)))


def _kind(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _is_number(shape: Any) -> bool:
    """Return True if a field with the number of the slide is all that a shape says."""
    body = shape._element.txBody
    fields = body.findall("{*}p/{*}fld") if body is not None else []
    runs = body.findall("{*}p/{*}r") if body is not None else []
    return bool(fields) and not runs and all(field.get("type") == "slidenum" for field in fields)
