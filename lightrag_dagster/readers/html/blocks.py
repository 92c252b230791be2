"""Paragraphs for text directly in a block: the extraction of the main text would take it for decoration."""

import re

from lxml import etree
from lxml import html as lxml_html

BLOCKS = {
    *("address", "article", "aside", "blockquote", "center", "details", "div", "dl", "fieldset", "figure", "footer"),
    *("form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table"),
    "ul",
}
"""Elements with lines of their own."""

LINES = {
    *BLOCKS,
    *("body", "br", "caption", "dd", "dt", "figcaption", "html", "li", "summary", "tbody", "td", "th", "tr"),
}
"""Elements that begin a line."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

BLANK = "\u2800"
"""A printable blank, in empty lines of code and before the number of an item, until the page is Markdown."""

_FRAMES = ("article", "body", "center", "details", "form", "header", "main", "section")
_INVISIBLE = ("script", "style", "noscript", "link", "meta")

_LONG = 500  # characters; a heading with paragraphs has fewer
_LINKED = 0.8  # share of the text
_SPACES = re.compile(r"\s+")
_BLANK_LINE = re.compile(r"(?<=\n)[ \t\r]*(?=\n)")


def join_lines(tree: lxml_html.HtmlElement) -> None:
    """Put each heading on one line: Markdown has none of several."""
    for heading in [one for one in tree.iter(*HEADINGS) if len(one.text_content()) <= _LONG]:
        for line in heading.iter("br"):
            line.tail = f" {line.tail or ''}"
        etree.strip_tags(heading, "br")
        for one in heading.iter():
            one.text, one.tail = (_SPACES.sub(" ", text or "") for text in (one.text, one.tail))


def end_lines_of_code(tree: lxml_html.HtmlElement) -> None:
    """Write the ends of lines in preformatted text as text."""
    for line in tree.iter("br"):
        if next(line.iterancestors("pre"), None) is not None:
            line.tail = f"\n{line.tail or ''}"


def make_paragraphs(tree: lxml_html.HtmlElement) -> None:
    """Apply `make_paragraph` to every `div` and other frame, except those in headings, which become inline."""
    for heading in list(tree.iter(*HEADINGS)):
        if len(heading.text_content()) > _LONG:
            _close(heading)
        for block in heading.iter("div", "p"):
            block.tag = "span"
    for inline in tree.iter("span", "font"):
        if any(block.tag in BLOCKS for block in inline.iterdescendants()):
            inline.tag = "div"
    for item in tree.iter("li"):
        if next(item.iterancestors("ul", "ol"), None) is None:  # else its text is glued to that of the next
            item.tag = "div"
    _move_captions(tree)
    for address in tree.iter("address"):
        address.tag = "div"
    for code in tree.iter("pre"):
        _make_code(code)
    for block in list(tree.iter("div", *_FRAMES)):
        make_paragraph(block)


def unname(block: lxml_html.HtmlElement) -> None:
    """Take the names from a block and all in it, by which the extraction would leave them out."""
    for element in block.iter():
        for name in ("class", "id", "role"):
            element.attrib.pop(name, None)


def wrap_content(block: lxml_html.HtmlElement, tag: str) -> None:
    """Put all that is in a block into an element of its own."""
    inner = lxml_html.Element(tag)
    inner.text, block.text = block.text, None
    inner.extend(list(block))
    block.append(inner)


def _make_code(pre: lxml_html.HtmlElement) -> None:
    """Make code of preformatted text: without that, the extraction would take its lines for headings and items."""
    if any(one.tag in BLOCKS for one in pre.iterdescendants()):
        return
    code = pre.text_content().rstrip()
    if "\n" in code.strip():
        pre.clear(keep_tail=True)
        etree.SubElement(pre, "code").text = _BLANK_LINE.sub(BLANK, code)


def _close(heading: lxml_html.HtmlElement) -> None:
    """End a heading that the page does not end before its first block."""
    first = next((child for child in heading if child.tag in BLOCKS), None)
    if first is None:
        return
    after = lxml_html.Element("div")
    after.extend([first, *first.itersiblings()])
    after.tail, heading.tail = heading.tail, None
    heading.addnext(after)


def make_paragraph(block: lxml_html.HtmlElement) -> None:
    """Turn a `div` with only text and inline elements into a `p`; wrap such text between other blocks in `p`."""
    children = list(block)
    if block.tag == "div" and not any(child.tag in BLOCKS for child in children):
        block.tag = "p" if _has_content(block) and not _is_linked(block) else block.tag
        return
    paragraph = lxml_html.Element("p")
    paragraph.text, block.text = block.text, None
    for child in children:
        if child.tag not in BLOCKS and (child.tag not in _INVISIBLE or _has_content(paragraph)):
            paragraph.append(child)
            continue
        _place(paragraph, child)
        paragraph = lxml_html.Element("p")
        paragraph.text, child.tail = child.tail, None
    _place(paragraph, None, block)


def _place(
    paragraph: lxml_html.HtmlElement, before: lxml_html.HtmlElement | None, block: lxml_html.HtmlElement | None = None
) -> None:
    """Put a paragraph before an element or at the end of a block, if it has content."""
    if _has_content(paragraph):
        if before is not None:
            before.addprevious(paragraph)
        elif block is not None:
            block.append(paragraph)


def _has_content(paragraph: lxml_html.HtmlElement) -> bool:
    return any(map(str.isalnum, paragraph.text or "")) or any(child.tag not in _INVISIBLE for child in paragraph)


def _is_linked(block: lxml_html.HtmlElement) -> bool:
    """Return True if a block has only links, as menus have."""
    links = [link for link in block.iter("a") if link.get("href")]
    return bool(links) and sum(len(link.text_content()) for link in links) > _LINKED * len(block.text_content().strip())


def _move_captions(tree: lxml_html.HtmlElement) -> None:
    """Make blocks of figures and of their captions; that of a table or code stands above it."""
    for figure in list(tree.iter("figure")):
        for caption in list(figure.iter("figcaption")):
            caption.tag = "div"
            unname(caption)
            inside = set(caption.iterdescendants())
            if any(one not in inside for one in figure.iter("table", "pre")):
                caption.tail = None
                figure.insert(0, caption)
        figure.tag = "div"
        figure.attrib.clear()
