"""Parts of the lines of a parsed page: raised numbers, check boxes, texts of images, beginnings of lines."""

import re
from typing import Any

from bs4.element import NavigableString

from lightrag_dagster.readers.html.blocks import LINES
from lightrag_dagster.readers.inline import STRUCK, alternative_text, check_box, parts_number, raised

_LINES = LINES | {"[document]"}
_STRUCK = re.compile(STRUCK)
_AS_IT_IS = {"caption", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th"}  # no lines in Markdown, or after its marks
_MARKED = {"b", "code", "del", "em", "i", "kbd", "pre", "s", "samp", "strong"}
_LINE_START = re.compile(r"^(\s*)(?:(\d{1,9})(?=[.)]\s)|(?=(?:#{1,6}|[-+*])\s|```|~~~))")


def tidy_inline(soup: Any) -> None:
    """Make text of raised and bold numbers, check boxes and alternative texts; escape marks that begin lines."""
    for sup in soup("sup"):
        text = sup.get_text()
        number = raised(_before(sup), text)
        if number != text:
            sup.replace_with(number)
    for mark in [*soup("span"), *soup("strike")]:
        if mark.name == "strike" or _STRUCK.search(str(mark.get("style") or "")):
            mark.name = "s"
    for bold in [*soup("b"), *soup("strong")]:
        beside = (bold.previous_sibling, bold.next_sibling)
        before, after = (str(one) if isinstance(one, NavigableString) else "" for one in beside)
        text = str(bold.string or "")
        if parts_number(before, text) or parts_number(text, after):
            bold.unwrap()
    for box in soup("input"):
        if box.get("type") == "checkbox":
            box.replace_with(check_box(box.get("checked") is not None) + ("" if _after(box)[:1].isspace() else " "))
    for image in soup("img"):
        if not str(image.get("src") or "").startswith("figure-"):
            _say(soup, image)
    for text in [one for one in soup.descendants if isinstance(one, NavigableString)]:
        if _LINE_START.search(text) and _begins_line(text):
            text.replace_with(_LINE_START.sub(r"\1\2\\", text))


def _before(element: Any) -> str:
    """Return the text before an element on its line."""
    for one in element.previous_elements:
        if isinstance(one, NavigableString) and one:
            return str(one)
        if one.name in _LINES:
            break
    return ""


def _after(element: Any) -> str:
    one = element.next_sibling
    return str(one.get_text()) if one is not None else ""


def _say(soup: Any, image: Any) -> None:
    """Put what is said in place of an image below its paragraph, or between blanks where it has none."""
    text = alternative_text(str(image.get("alt") or ""))
    block = image.find_parent(_LINES)
    if text and block is not None and block.name == "p" and block.find_parent(("td", "th", "li", "a")) is None:
        paragraph = soup.new_tag("p")
        paragraph.string = text
        last = block
        while last.next_sibling is not None and getattr(last.next_sibling, "said", False):
            last = last.next_sibling
        paragraph.said = True
        last.insert_after(paragraph)
        text = ""
    if not text and (_before(image)[-1:].isspace() or _after(image)[:1].isspace()):
        image.extract()  # the library takes an empty text for the end of a line
    else:
        image.replace_with(f" {text} " if text else " ")


def _begins_line(text: Any) -> bool:
    """Return True for a text at the beginning of a line of Markdown."""
    node = text
    while node is not None:
        before = node.previous_sibling
        while isinstance(before, NavigableString) and not before.strip():
            before = before.previous_sibling
        if before is not None:
            return before.name in _LINES
        node = node.parent
        if node is None or node.name in _MARKED or (node.name == "a" and node.get("href")):
            return False
        if node.name in _LINES:
            return node.name not in _AS_IT_IS
    return False
