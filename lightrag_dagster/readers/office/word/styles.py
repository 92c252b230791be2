"""Styles of a Word file: what a paragraph or run has from its style, and from those that this one is based on."""

import re
from collections.abc import Iterator

from lxml import etree

from lightrag_dagster.readers.office.word.xml import W, is_on, name_of, new, number, value

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CONTENTS = re.compile(r"toc [1-9]", re.IGNORECASE)
_BODY = 9  # the outline level of text that is no heading
_MOST = 50  # styles in a row


class WordStyles:
    """The styles of a document by identifier; a paragraph without one has the default style."""

    def __init__(self, root: etree._Element | None) -> None:
        """Take the root of the part with the styles; None if there is none."""
        self._styles: dict[str, etree._Element] = {}
        self._default: str | None = None
        for style in () if root is None else root.iterfind(f"{W}style"):
            name = style.get(f"{W}styleId") or ""
            self._styles.setdefault(name, style)
            if style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in ("1", "true", "on"):
                self._default = name

    def outline_level(self, paragraph: etree._Element) -> int | None:
        """Return the level of a heading, from 0; -1 for one that its style or itself makes body text; None for text."""
        level = number(value(paragraph, "pPr/outlineLvl"))
        for style in self._chain(value(paragraph, "pPr/pStyle")):
            level = number(value(style, "pPr/outlineLvl")) if level is None else level
            heading = _HEADING.fullmatch(value(style, "name") or "")
            level = int(heading[1]) - 1 if level is None and heading else level
        return -1 if level is not None and level >= _BODY else level

    def is_of_contents(self, paragraph: etree._Element) -> bool:
        """Return True for a line of a table of contents."""
        name = value(self._styles.get(value(paragraph, "pPr/pStyle") or ""), "name")
        return bool(_CONTENTS.fullmatch(name or ""))

    def numbering(self, paragraph: etree._Element) -> tuple[str | None, int | None, list[str]]:
        """Return the list and the level of a paragraph, None if they are not said, and the names of its styles."""
        chain = list(self._chain(value(paragraph, "pPr/pStyle") or self._default))
        owners = [paragraph, *chain]
        lists = (value(owner, "pPr/numPr/numId") for owner in owners)
        levels = (number(value(owner, "pPr/numPr/ilvl")) for owner in owners)
        found = next((one for one in lists if one is not None), None)
        level = next((one for one in levels if one is not None), None)
        return found, level, [style.get(f"{W}styleId") or "" for style in chain]

    def list_of(self, style: str) -> str | None:
        """Return the list that a style of lists names."""
        return value(self._styles.get(style), "pPr/numPr/numId")

    def is_hidden(self, run: etree._Element, paragraph: etree._Element | None) -> bool:
        """Return True for a run that is not shown."""
        own = is_on(run, "rPr/vanish")
        if own is not None:
            return own
        styles = (*self._chain(value(run, "rPr/rStyle")), *self._chain(value(paragraph, "pPr/pStyle") or self._default))
        return next((hides for hides in (is_on(style, "rPr/vanish") for style in styles) if hides is not None), False)

    def is_placeholder(self, run: etree._Element) -> bool:
        """Return True for a run in the style of what an empty field shows; Word has its identifier in any language."""
        own = value(run, "rPr/rStyle")
        names = {own, *(value(style, "name") for style in self._chain(own))}
        return not names.isdisjoint(("PlaceholderText", "Placeholder Text"))

    def raises(self, run: etree._Element) -> str | None:
        """Return how the style of a run raises or lowers it; None if it does not."""
        shifts = (value(style, "rPr/vertAlign") for style in self._chain(value(run, "rPr/rStyle")))
        return next(filter(None, shifts), None)

    def has_hidden(self) -> bool:
        """Return True if any style hides text."""
        return any(is_on(style, "rPr/vanish") for style in self._styles.values())

    def names(self) -> bytes:
        """Return the part that mammoth needs: the name of each style; it takes long for all that styles say else."""
        root = new("styles")
        for key, style in self._styles.items():
            kept = new("style", type=style.get(f"{W}type") or "paragraph", styleId=key)
            for child in style:
                if name_of(child) == "name":
                    kept.append(new("name", val=child.get(f"{W}val") or ""))
            root.append(kept)
        return bytes(etree.tostring(root, encoding="UTF-8"))

    def _chain(self, name: str | None) -> Iterator[etree._Element]:
        """Yield a style and those that it is based on."""
        for _ in range(_MOST):
            style = self._styles.get(name or "")
            if style is None:
                return
            yield style
            name = value(style, "basedOn")
