"""Numbers of headings and list items, which OpenDocument keeps as styles and not as text."""

from lxml import etree

from lightrag_dagster.readers.office.open_document.names import ID, STYLE, TEXT, number_of
from lightrag_dagster.readers.office.open_document.styles import Styles
from lightrag_dagster.readers.office.word.number_formats import write_number

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class Counter:
    """The numbers at each level of a list or of the headings, with the style that writes them."""

    def __init__(self, style: etree._Element | None) -> None:
        levels = style.iterchildren() if style is not None else ()
        self._levels = {number_of(one, f"{TEXT}level", 1): one for one in levels if isinstance(one.tag, str)}
        self._numbers: dict[int, int] = {}

    def next(self, level: int, start: int | None = None) -> str:
        """Count at a level, and return the number as it is written; "" for a bullet or none."""
        first = start if start is not None else self._numbers.get(level, self._start(level) - 1) + 1
        self._numbers = {deep: number for deep, number in self._numbers.items() if deep < level} | {level: first}
        style = self._levels.get(level)
        if style is None or not self._form(level):
            return ""
        shown = max(1, number_of(style, f"{TEXT}display-levels", 1))
        numbers = [self._written(deep) for deep in range(max(1, level - shown + 1), level + 1)]
        prefix, suffix = (style.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
        return f"{prefix}{'.'.join(filter(None, numbers))}{suffix}".strip()

    def _start(self, level: int) -> int:
        style = self._levels.get(level)
        return number_of(style, f"{TEXT}start-value", 1) if style is not None else 1

    def _form(self, level: int) -> str:
        style = self._levels.get(level)
        return str(style.get(f"{STYLE}num-format") or "") if style is not None else ""

    def _written(self, level: int) -> str:
        form = self._form(level)
        return write_number(self._numbers.get(level, self._start(level)), _FORMS.get(form, "decimal")) if form else ""


class Numbering:
    """Numbers the headings and lists of a document in the order in which they are met."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._headings = Counter(styles.outline)
        self._lists: dict[str, Counter] = {}  # by identifier, and the last one of a style

    def heading(self, element: etree._Element, level: int) -> str:
        """Return the number of a heading; "" if it has none."""
        if element.get(f"{TEXT}is-list-header") == "true":
            return ""
        restarts = element.get(f"{TEXT}restart-numbering") == "true"
        return self._headings.next(level, number_of(element, f"{TEXT}start-value", 1) if restarts else None)

    def begin(self, element: etree._Element, default_style: str) -> Counter:
        """Return the counter of an outermost list, which may go on with that of another one."""
        style = element.get(f"{TEXT}style-name") or default_style
        before = element.get(f"{TEXT}continue-list")
        if before is None and element.get(f"{TEXT}continue-numbering") == "true":
            before = f"style {style}"
        counter = self._lists.get(before) if before else None
        counter = counter or Counter(self._styles.lists.get(style))
        self._lists[f"style {style}"] = counter
        if name := element.get(ID):
            self._lists[name] = counter
        return counter
