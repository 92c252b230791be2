"""All text of a page, without a tree: what the reader of pages is compared with, and the text of odd pages."""

import re

from lxml import etree

from lightrag_dagster.readers.html.blocks import LINES

_NO_TEXT = {"title", "script", "style", "template", "math", "rt", "rp"}
_BREAKS = LINES | {"button", "img", "input", "label", "legend", "option", "text", "textarea"}
_PARAMETER = re.compile(r"&(?=[A-Za-z][\w.-]*=)")
_NUMBER = re.compile(r"\s*[+\-−–]?\d")


def all_text(page: str) -> str:
    """Return all text of a page of any depth, except scripts, styles and formulas; each block is a line of its own."""
    parser = etree.HTMLParser(encoding="utf-8", target=_Lines(), huge_tree=True, remove_comments=True, remove_pis=True)
    return str(etree.fromstring(with_parameters(page).encode("utf-8", "ignore"), parser))


def with_parameters(page: str) -> str:
    """Return a page whose `&region=`, as of an address, begins no character: parsers would make `®ion=` of it."""
    return _PARAMETER.sub("&amp;", page)


class _Lines:
    """A parser target that joins text, with a line end at each element that ends a line, and a space before powers."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._hidden = 0
        self._raised = 0

    def start(self, tag: str, attributes: object) -> None:
        self._count(tag, 1)

    def end(self, tag: str) -> None:
        self._count(tag, -1)

    def _count(self, tag: str, one: int) -> None:
        if tag in _BREAKS:
            self._texts.append("\n")
        elif tag in _NO_TEXT:
            self._hidden += one
        elif tag == "sup":
            self._raised += one

    def data(self, text: str) -> None:
        if not self._hidden:
            spaced = text.replace("\n", " ")
            self._texts.append(f" {spaced}" if self._raised and _NUMBER.match(text) else spaced)

    def close(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._texts).split("\n"))
        return "\n".join(filter(None, lines))
