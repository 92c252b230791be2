"""Sections of an article that the extraction of the main text would take for something else by their names."""

import re
from unicodedata import normalize

from lxml import etree
from lxml import html as lxml_html
from trafilatura.xpaths import OVERALL_DISCARD_XPATH, TEASER_DISCARD_XPATH

from lightrag_dagster.readers.html.blocks import HEADINGS, unname
from lightrag_dagster.readers.html.item_numbers import integer_of

_LETTERS = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"\W*+\w.{20,}[.!?…。！？:;]", re.DOTALL)
_DISCARDED = (OVERALL_DISCARD_XPATH[0], *TEASER_DISCARD_XPATH)
_MAIN = "//*[@role='main'] | //meta[starts-with(@content, 'Asciidoctor')]/following::div[@id='content']"
_NAMED = (  # captions of Sphinx, menus of Asciidoctor, parts of Confluence to be opened
    "//div[@class='code-block-caption'] | //span[@class='menuseq'] | //div[contains(@class, 'expand-container')]"
)
_CONTROLS = ("form", "input", "button", "select", "textarea", "iframe", "nav")
_LINKED = 0.1  # share of the text
HIDDEN = re.compile(r"(?<![\w-])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_BACK = re.compile(r"backface-visibility\s*:\s*hidden", re.IGNORECASE)  # of the side that does not show
_HIDDEN_OR_BACK = re.compile(f"{HIDDEN.pattern}|{_BACK.pattern}", re.IGNORECASE)
_IN_LINES = ("p", "span", "b", "strong", "i", "em", "small")
_OPENED = ("li", "dt", "dd", "tr", "td", "th")
_LINE_NUMBERS = {"linenos", "lineno", "ln"}
_LEFT_OUT = "left-out"


def drop_hidden(tree: lxml_html.HtmlElement) -> list[str]:
    """Remove hidden lines and parts of lines, and numbers of lines of code, and return their texts.

    Larger hidden parts, as items, rows and tabs, may be opened.
    """
    left_out = {one for one in tree.iter(*_IN_LINES) if _is_hidden(one)}
    left_out.update(tree.xpath("//span[contains(@class, 'mw-editsection')]"))  # of Wikipedia
    for pre in tree.iter("pre"):
        if next(pre.iterdescendants("pre"), None) is None:
            numbers = [one for one in pre.iter("span") if one.get("class") in _LINE_NUMBERS]
            if numbers and _count_lines([one.text_content().strip() for one in numbers], pre):
                left_out.update(numbers)
    left_out.update(cells[0] for row in tree.iter("tr") if len(cells := row.findall("td")) == 2 and _counts(*cells))
    texts = list[str]()
    for one in reversed([one for one in tree.iter() if one in left_out]):  # the inner ones first: each text once
        texts.append(one.text_content())
        one.clear(keep_tail=True)
        one.tag = _LEFT_OUT
    etree.strip_elements(tree, _LEFT_OUT, with_tail=False)
    for one in tree.iter():  # by such styles, the extraction would leave out what is read
        if style := one.get("style"):
            one.set("style", (_HIDDEN_OR_BACK if one.tag in _OPENED else _BACK).sub("", style))
    return texts


def _is_hidden(element: lxml_html.HtmlElement) -> bool:
    """Return True for a hidden element; a browser's search shows those that are so until they are found."""
    hidden = element.get("hidden")
    return (hidden is not None and hidden.lower() != "until-found") or bool(HIDDEN.search(element.get("style") or ""))


def _counts(cell: lxml_html.HtmlElement, beside: lxml_html.HtmlElement) -> bool:
    """Return True for a cell that has the numbers of the lines of code beside it, and nothing else."""
    numbers, code = cell.find(".//pre"), beside.find(".//pre")
    if numbers is None or code is None or next(numbers.iterdescendants("pre"), None) is not None:
        return False
    text = numbers.text_content()
    return _count_lines(text.split(), code) and cell.text_content().strip() == text.strip()


def _count_lines(numbers: list[str], code: lxml_html.HtmlElement) -> bool:
    """Return True for consecutive numbers of all lines of code, of two at least."""
    first = integer_of(numbers[0], -1) if len(numbers) > 1 else -1
    if first < 0 or numbers != [str(first + after) for after in range(len(numbers))]:
        return False
    text = code.text_content()
    return bool(text.strip("\n").count("\n") < len(numbers) <= text.count("\n") + 1)


def name_tabs(tree: lxml_html.HtmlElement) -> None:
    """Put the names of tabs, as Material for MkDocs has them in a list above, at the beginning of each."""
    for tabs in tree.iterfind(".//div[@data-tabs]"):
        for box in tabs.findall("input"):
            box.drop_tree()
        names = tabs.xpath("./label | ./div[@class='tabbed-labels']/label")
        blocks = tabs.xpath("./div/div[@class='tabbed-block']") or tabs.xpath("./div[@class='tabbed-content']")
        for name, tab in zip(names, blocks, strict=False):
            name.tag, name.tail = "p", None
            tab.insert(0, name)


def keep_sections(tree: lxml_html.HtmlElement) -> None:
    """Take names from sections that are content: chapters, named as their headings, and prose inside an article.

    The footer of a quotation says who said it, and is content too; so are notes, which Asciidoctor has behind its text.
    """
    for section in tree.iter("section", "div"):
        heading = next(section.iter(*HEADINGS), None) if section.get("id") else None
        if heading is not None and letters(heading.text_content()) == letters(section.get("id")):
            del section.attrib["id"]
    for named in tree.xpath(_NAMED):
        unname(named)
    for summary in tree.iter("summary"):  # else a heading, also of all behind its `details`
        summary.tag = "div"
    for attribution in tree.iterfind(".//blockquote//footer"):
        attribution.tag = "p"
    for notes in tree.xpath("//div[@id='footnotes'][preceding-sibling::*[1][self::div]]"):
        notes.getprevious().append(notes)
    for article in _articles(tree):
        discarded = {section for expression in _DISCARDED for section in expression(article)}
        for section in discarded:
            if is_prose(section) and not any(around in discarded for around in section.iterancestors()):
                section.attrib.clear()
        notes = set(article.xpath(".//aside[descendant-or-self::*[@role='doc-footnote']]"))
        for aside in article.iter("aside"):
            if aside in notes or is_prose(aside):
                aside.tag = "div"
                aside.attrib.clear()


def _articles(tree: lxml_html.HtmlElement) -> list[lxml_html.HtmlElement]:
    found = list(tree.iter("article")) or list(tree.iter("main")) or tree.xpath(_MAIN)
    return [one for one in found if next(one.iterancestors("article"), None) is None]


def is_prose(section: lxml_html.HtmlElement) -> bool:
    """Return True if a section is read, not used: sentences with few links and no fields or buttons, and not hidden."""
    if next(section.iter(*_CONTROLS), None) is not None or HIDDEN.search(section.get("style") or ""):
        return False
    text = section.text_content()
    linked = sum(len(link.text_content()) for link in section.iter("a"))
    return linked <= _LINKED * len(text) and bool(_SENTENCE.match(text))


def letters(text: str) -> str:
    """Return a text's letters and digits alone, without case and not raised: the same where marks and spaces differ."""
    return "".join(_LETTERS.findall(normalize("NFKC", text))).casefold()
