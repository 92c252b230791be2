"""The passages of a page, each with the reasons for and against being content, whatever the extraction keeps."""

import re
from dataclasses import dataclass

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import BLOCKS
from lightrag_dagster.readers.html.sections import letters

_LINES = BLOCKS | {"body", "br", "dd", "dt", "figcaption", "html", "li", "summary", "caption", "tr", "td", "th", "tbody"}
_INVISIBLE = {"head", "script", "style", "template"}
_APART = {"nav", "aside", "footer", "menu", "dialog", "form", "button", "select", "noscript", "label", "datalist", "svg"}
_ROLES = {"navigation", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "banner", "alert"}
_KINDS = (
    r"nav\w*|\w*menu\w*|bread-?crumbs?|\w*footer\w*|\w*sidebar\w*|cookies?\w*|consent\w*|gdpr\w*|shar\w+|social\w*"
    r"|newsletter\w*|subscri\w+|comments?|respond|disqus\w*|related\w*|recommend\w*|teasers?|promo\w*|ads?|advert\w*"
    r"|banner\w*|popup\w*|modal\w*|overlay\w*|widget\w*|pagination|pager|toolbar|login\w*|paywall\w*|tags?|author\w*"
    r"|bio|hidden|print-only|no-?print|site-header|masthead|search\w*"
)
_NAMES = re.compile(
    rf"(?:^|\s|(?<!\bno)(?<!\bwith)(?<!\bhas)(?<!\bbelow)(?<!\babove)(?<!\bto)[-_])(?:{_KINDS})(?=$|[\s_-])", re.IGNORECASE
)
_CONTENT = {"article", "main", "body", "html"}
_HIDDEN = re.compile(r"display:\s*none|visibility:\s*hidden")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_SENTENCE = re.compile(r"[^\W\d_]\S*\s+\S.*[.!?…:。！？؟।]|[。！？，、]", re.DOTALL)
_LINKED = 0.4  # share of the letters; text with more is a list of links
_LEAST = 40  # letters of prose; CJK has more in each


@dataclass(slots=True)
class Passage:
    """The text between two line ends of a page.

    `element` is the one whose line it begins, `linked` the number of letters in links. It is `apart` in a part that is
    no content by its element, and `named` in one that is none by its name.
    """

    text: str
    letters: str
    linked: int
    element: lxml_html.HtmlElement
    tag: str
    apart: bool
    named: bool = False

    @property
    def is_prose(self) -> bool:
        """True if it is a sentence or more of what is content."""
        return self.is_sentence and not self.apart and not self.named

    @property
    def is_sentence(self) -> bool:
        """True if it is a sentence or more, wherever it stands."""
        return (
            self.tag not in _HEADINGS
            and len(self.letters) >= (_LEAST if self.text.isascii() else _LEAST // 2)
            and self.linked <= _LINKED * len(self.letters)
            and bool(_SENTENCE.search(self.text))
        )


def passages(tree: lxml_html.HtmlElement) -> list[Passage]:
    """Return the passages of a page in order."""
    found = list[Passage]()
    texts, linked = list[str](), 0
    place, outside = tree, False
    apart = links = invisible = 0  # how many such elements are open
    opened = list[tuple[int, int, int, int]]()
    parts = list[tuple[int, int]]()  # those of a name that is no content's: the numbers of their passages
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        name = element.tag
        if name in _LINES:
            text = " ".join("".join(texts).split())
            if text and (key := letters(text)):
                found.append(Passage(text, key, linked, place, place.tag, outside))
            texts, linked = [], 0
        if event == "start":
            named = name in _LINES and name not in _CONTENT and is_named_apart(element)
            opened.append((apart, links, invisible, len(found) if named else -1))
            apart += is_apart(element)
            links += name == "a"
            invisible += name in _INVISIBLE
            text = element.text
        else:
            apart, links, invisible, begin = opened.pop()
            if begin >= 0:
                parts.append((begin, len(found)))
            text = element.tail
        if name in _LINES:
            place, outside = element, bool(apart)
        if text and not invisible:
            texts.append(text)
            linked += sum(map(str.isalnum, text)) if links else 0
    most = sum(len(one.letters) for one in found) / 2
    for begin, end in parts:
        if sum(len(one.letters) for one in found[begin:end]) <= most:  # otherwise the page is in it, whatever its name
            for one in found[begin:end]:
                one.named = True
    return found


def is_apart(element: lxml_html.HtmlElement) -> bool:
    """Return True if an element is no content by its kind or role."""
    return element.tag in _APART or element.get("role") in _ROLES


def is_named_apart(element: lxml_html.HtmlElement) -> bool:
    """Return True if an element is no content by its name, or hidden."""
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return bool(_NAMES.search(names)) or bool(_HIDDEN.search(element.get("style") or ""))
