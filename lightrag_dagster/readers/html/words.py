"""All text of a page, by its text nodes: what the reader of pages is compared with."""

import re
from collections.abc import Iterator

from lxml import etree

from lightrag_dagster.readers.html.blocks import BLOCKS

_NO_TEXT = ("head", "script", "style", "template", "math", "rt", "rp")
_BREAKS = BLOCKS | {*("body", "br", "button", "caption", "dd", "dt", "figcaption", "img", "input", "label", "legend")} | {
    *("li", "option", "summary", "td", "textarea", "th", "title", "tr")
}
_NUMBER = re.compile(r"\s*[+\-−–]?\d")


def words(page: str) -> Iterator[str]:
    """Yield all text of a page, without that of scripts, styles and formulas; words are whole across marks in a line."""
    parser = etree.HTMLParser(encoding="utf-8", target=_Texts(), huge_tree=True, remove_comments=True, remove_pis=True)
    yield str(etree.fromstring(page.encode("utf-8", "ignore"), parser))


class _Texts:
    """A parser target that joins text, with a line end at each element that ends a line, and a space before powers."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._hidden = 0
        self._raised = 0

    def start(self, tag: str, attributes: object) -> None:
        if tag in _BREAKS:
            self._texts.append("\n")
        self._hidden += tag in _NO_TEXT
        self._raised += tag == "sup"

    def end(self, tag: str) -> None:
        if tag in _BREAKS:
            self._texts.append("\n")
        self._hidden -= tag in _NO_TEXT
        self._raised -= tag == "sup"

    def data(self, text: str) -> None:
        if not self._hidden:
            self._texts.append(f" {text}" if self._raised and _NUMBER.match(text) else text)

    def close(self) -> str:
        return "".join(self._texts)
