"""Paragraphs for text directly in a block: the extraction of the main text would take it for decoration."""

from lxml import html as lxml_html

BLOCKS = {
    *("address", "article", "aside", "blockquote", "center", "details", "div", "dl", "fieldset", "figure", "footer"),
    *("form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table"),
    "ul",
}
"""Elements on lines of their own."""


def make_paragraphs(tree: lxml_html.HtmlElement) -> None:
    """Apply `make_paragraph` to every `div` of a page, except those in headings, which become inline."""
    for heading in tree.iter("h1", "h2", "h3", "h4", "h5", "h6"):
        for block in heading.iter("div", "p"):
            block.tag = "span"
    for block in list(tree.iter("div")):
        make_paragraph(block)


def make_paragraph(block: lxml_html.HtmlElement) -> None:
    """Turn a block with only text and inline elements into a `p`; wrap such text between its blocks in `p`."""
    children = list(block)
    if not any(child.tag in BLOCKS for child in children):
        block.tag = "p" if _has_content(block) else block.tag
        return
    paragraph = lxml_html.Element("p")
    paragraph.text, block.text = block.text, None
    for child in children:
        if child.tag not in BLOCKS:
            paragraph.append(child)
            continue
        if _has_content(paragraph):
            child.addprevious(paragraph)
        paragraph = lxml_html.Element("p")
        paragraph.text, child.tail = child.tail, None
    if _has_content(paragraph):
        block.append(paragraph)


def _has_content(paragraph: lxml_html.HtmlElement) -> bool:
    return any(map(str.isalnum, paragraph.text or "")) or len(paragraph) > 0
