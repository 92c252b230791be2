"""The lists of a page before it becomes Markdown: tables in items, numbers, and lists of links that are content."""

from itertools import islice

from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import BLANK, make_paragraph
from lightrag_dagster.readers.html.item_numbers import integer_of, item_numbers
from lightrag_dagster.readers.html.passages import is_named_apart

_NEAR = 50  # blocks
_SENTENCE = 30  # characters outside links; fewer are a label
_TEXT = ("p", "blockquote", "table", "pre")
_LISTS = ("ul", "ol")


def tidy_lists(tree: lxml_html.HtmlElement) -> None:
    """Take tables out of items, write numbers that are not 1, 2, 3, and keep lists of links between paragraphs."""
    for table in list(tree.iter("table")):
        _take_out(table)
    for ordered in list(tree.iter("ol")):
        _number(ordered)
    for one in list(tree.iter(*_LISTS, "p")):
        links = list(one.iter("a"))
        if links and not is_named_apart(one) and _is_between_paragraphs(one):
            for link in links:
                link.drop_tag()


def _take_out(block: lxml_html.HtmlElement) -> None:
    """Move a table in an item behind it, and end the list there: Markdown's items hold no tables."""
    while (parent := block.getparent()) is not None and parent.tag != "table":
        if parent.getparent() is None or next(block.iterancestors("li", "dd", *_LISTS, "dl"), None) is None:
            return
        rest = _split(parent, block)
        if rest is not None and parent.tag in ("li", "dd"):
            rest.tag = "div"
            _take_out(rest)
            make_paragraph(rest)


def _split(parent: lxml_html.HtmlElement, block: lxml_html.HtmlElement) -> lxml_html.HtmlElement | None:
    """Move a child behind its parent, and what follows it into a copy of the parent behind that."""
    rest = lxml_html.Element(parent.tag)
    rest.text, block.tail = block.tail, None
    rest.extend(list(block.itersiblings()))
    if parent.tag == "ol":
        count = sum(1 for one in parent if one.tag == "li")
        rest.set("start", str(integer_of(parent.get("start"), 1) + count))
    tail, parent.tail = parent.tail, None
    parent.addnext(block)
    if not len(rest) and not (rest.text or "").strip():
        block.tail = tail
        return None
    block.addnext(rest)
    rest.tail = tail
    return rest


def _number(ordered: lxml_html.HtmlElement) -> None:
    """Write the numbers of a list that are not 1, 2, 3."""
    items = [one for one in ordered if one.tag == "li"]
    numbers = item_numbers(ordered.attrib, [one.get("value") for one in items])
    if numbers == [f"{number}." for number in range(1, len(items) + 1)]:
        return
    ordered.tag = "ul"
    for item, number in zip(items, numbers, strict=True):
        item.text = f"{BLANK}{number} {(item.text or '').lstrip()}"


def _is_between_paragraphs(one: lxml_html.HtmlElement) -> bool:
    """Return True if a block is within a text: between paragraphs, with sentences before and behind it."""
    place = one
    while place.getparent() is not None and place.getparent().tag == "div" and _is_alone(place):
        place = place.getparent()
    around = (islice(place.itersiblings(preceding=before), _NEAR) for before in (True, False))
    return all(any(map(_is_text, blocks)) for blocks in around)


def _is_alone(place: lxml_html.HtmlElement) -> bool:
    parent = place.getparent()
    return len(parent) == 1 and not (parent.text or "").strip() and not (place.tail or "").strip()


def _is_text(block: lxml_html.HtmlElement) -> bool:
    """Return True if a block is a sentence, and has words beside its links."""
    if block.tag not in _TEXT:
        return False
    linked = sum(len(link.text_content()) for link in block.iter("a"))
    return len(" ".join(block.text_content().split())) - linked >= _SENTENCE
