"""The lines of a page, each with the reasons for and against being content; the extraction does not matter here."""

import re
from dataclasses import dataclass

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import HEADINGS, LINES
from lightrag_dagster.readers.html.sections import HIDDEN, letters

_INVISIBLE = {"head", "script", "style", "template", "rt", "rp"}
_APART = {
    *("aside", "button", "datalist", "dialog", "figcaption", "footer", "form", "label", "menu", "nav", "noscript"),
    *("select", "svg"),
}
_ROLES = {"navigation", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "banner", "alert"}
_KINDS = (
    r"nav\w*|\w*menu\w*|bread-?crumbs?|\w*footer\w*|\w*sidebar\w*|cookies?\w*|consent\w*|gdpr\w*|shar\w+|social\w*"
    r"|newsletter\w*|subscri\w+|comments?|respond|disqus\w*|related\w*|recommend\w*|teasers?|promos?|promotions?|ads?|advert\w*"
    r"|banner\w*|popup\w*|modal\w*|overlay\w*|widget\w*|pagination|pager|toolbar|login\w*|tags?|author\w*"
    r"|bio|print-only|no-?print|site-header|masthead|search\w*"
)
_NAMES = re.compile(
    rf"(?:^|\s|(?<!\bno)(?<!\bwith)(?<!\bhas)(?<!\bbelow)(?<!\babove)(?<!\bto)(?<!\belementor)[-_])(?:{_KINDS})(?=$|[\s_-])",
    re.IGNORECASE,
)
_CONTENT = {"article", "main", "body", "html"}
# From the first word on, possessive: a search would begin again at each letter of a line without an end.
_SENTENCE = re.compile(r"[\W\d_]*+[^\W\d_]\S*+\s++\S.*[.!?…:。！？؟।]|.*[。！？，、]", re.DOTALL)
_LINKED = 0.4  # share of the letters; text with more is a list of links
_ADDRESS = re.compile(r"\s*(?:https?://|www\.)")  # a reference, not the title of another page
_ITEMS = {"li", "td", "dd"}
_LEAST_OF_ITEM = 12  # letters
_LEAST = 40  # letters of prose; CJK has more in each


@dataclass(slots=True)
class PageLine:
    """The text between two line ends of a page.

    `element` is the one whose line it begins, `linked` the number of letters in links, except addresses. It is `apart`
    in a part beside the content by its kind or role, and `named` in one that is beside it by its name.
    """

    text: str
    letters: str
    linked: int
    element: lxml_html.HtmlElement
    tag: str
    apart: bool = False
    named: bool = False

    @property
    def is_prose(self) -> bool:
        """True if it is a sentence or more of what is content."""
        return (self.is_sentence or self._is_item) and not self.is_beside

    @property
    def is_beside(self) -> bool:
        """True for a link, and for everything in a menu, a form or another part beside the content."""
        return self.apart or self.named or self.linked > _LINKED * len(self.letters)

    @property
    def is_sentence(self) -> bool:
        """True if it is a sentence or more, in any place."""
        return (
            self.tag not in HEADINGS
            and len(self.letters) >= (_LEAST if self.text.isascii() else _LEAST // 2)
            and self.linked <= _LINKED * len(self.letters)
            and bool(_SENTENCE.match(self.text))
        )

    @property
    def _is_item(self) -> bool:
        """True for an item or a cell of more than a word, and without links."""
        return self.tag in _ITEMS and not self.linked and len(self.letters) >= _LEAST_OF_ITEM


def passages(tree: lxml_html.HtmlElement) -> list[PageLine]:
    """Return the passages of a page in order."""
    found = list[PageLine]()
    texts, linked = list[str](), 0
    place = tree
    links = invisible = 0  # how many such elements are open
    opened = list[tuple[int, int, int]]()
    parts = list[tuple[lxml_html.HtmlElement, int, int]]()  # with the numbers of their passages
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        name = element.tag
        if name in LINES:
            text = " ".join("".join(texts).split())
            if text and (key := letters(text)):
                found.append(PageLine(text, key, linked, place, place.tag))
            texts, linked, place = [], 0, element
        if event == "start":
            opened.append((links, invisible, len(found)))
            links += name == "a"
            invisible += name in _INVISIBLE
            text = element.text
        else:
            links, invisible, begin = opened.pop()
            if len(found) > begin and name in LINES and (is_apart(element) or is_named_apart(element)):
                parts.append((element, begin, len(found)))
            text = element.tail
        if text and not invisible:
            texts.append(text)
            linked += sum(map(str.isalnum, text)) if links and not _ADDRESS.match(text) else 0
    _set_apart(found, parts)
    return found


def _set_apart(found: list[PageLine], parts: list[tuple[lxml_html.HtmlElement, int, int]]) -> None:
    """Mark the passages of parts, except of those that hold the page itself: its main part, heading, or most text."""
    most = sum(len(one.letters) for one in found) / 2
    for element, begin, end in parts:
        if sum(len(one.letters) for one in found[begin:end]) > most or element.find(".//main") is not None:
            continue
        by_kind = is_apart(element)
        if not by_kind and element.find(".//h1") is not None:
            continue
        for one in found[begin:end]:
            one.apart, one.named = one.apart or by_kind, one.named or not by_kind


def is_apart(element: lxml_html.HtmlElement) -> bool:
    """Return True if an element is beside the content by its kind or role."""
    return element.tag in _APART or element.get("role") in _ROLES


def is_named_apart(element: lxml_html.HtmlElement) -> bool:
    """Return True if an element is beside the content by its name, or hidden."""
    if element.tag in _CONTENT:
        return False
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return bool(_NAMES.search(names)) or bool(HIDDEN.search(element.get("style") or ""))
