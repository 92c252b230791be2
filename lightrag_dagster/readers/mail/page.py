"""The HTML of a mail, without text marked as quoted or as a signature, and with its images in the page itself."""

import re
from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from urllib.parse import unquote

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import BLOCKS
from lightrag_dagster.readers.html.page import is_cut_short, keep_all, parse_page
from lightrag_dagster.readers.mail.quotes import begins_with_header

_QUOTES = '//blockquote[@type="cite" or contains(@class, "gmail_quote")] | //div[contains(@class, "yahoo_quoted")]'
_SIGNATURES = (
    '//*[contains(@class, "gmail_signature") or contains(@class, "moz-signature") or @id="Signature" '
    'or @id="AppleMailSignature"]'
)
_ATTRIBUTIONS = {"gmail_attr", "moz-cite-prefix"}
_HIDDEN = '//*[contains(translate(@style, " ", ""), "display:none")]'  # above the text of newsletters
_END = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)  # mailing lists add text behind it, which the parser drops
_LINE = 200  # characters


def own_page(page: str, images: Mapping[str, bytes]) -> tuple[str, list[str]]:
    """Return a page without quotes of earlier mails and signatures, with the images that it names by `cid:` URLs.

    Forwarded text stays; so does everything if the page has no other text. The texts that are left out come second.
    """
    try:
        return _own_page(page, images)
    except etree.ParserError:  # an empty page
        return page, []


def _own_page(page: str, images: Mapping[str, bytes]) -> tuple[str, list[str]]:
    page = _END.sub("", page)
    tree = parse_page(page)
    if is_cut_short(tree):
        return page, []
    left_out = list[str]()
    for element in tree.xpath(_QUOTES):
        if element.getparent() is not None and not begins_with_header("\n".join(islice(element.itertext(), 20))):
            _drop_attribution(element, left_out)
            _drop(element, left_out)
    for element in tree.xpath(f"{_SIGNATURES} | {_HIDDEN}"):
        if element.getparent() is not None:
            _drop(element, left_out)
    if not tree.text_content().strip() and not tree.xpath("//img"):
        tree, left_out = parse_page(page), []
    for image in tree.iter("img"):
        data = images.get(unquote((image.get("src") or "").removeprefix("cid:")))
        if data:
            image.set("src", f"data:image/any;base64,{b64encode(data).decode()}")
    keep_all(tree)
    return str(lxml_html.tostring(tree, encoding="unicode")), left_out


def _drop(element: lxml_html.HtmlElement, left_out: list[str]) -> None:
    left_out.append(" ".join(element.itertext()))
    element.drop_tree()


def _drop_attribution(quote: lxml_html.HtmlElement, left_out: list[str]) -> None:
    """Drop the attribution above a quote, an element that is marked as such or one line with a colon."""
    above = quote.getprevious()
    while above is not None and above.tag == "br" and not (above.tail or "").strip():
        above = above.getprevious()
    if above is None or (above.tail or "").strip():
        return
    text = above.text_content().strip()
    is_line = len(text) <= _LINE and above.find(".//br") is None and not any(child.tag in BLOCKS for child in above)
    if _ATTRIBUTIONS & set(above.classes) or (is_line and text.endswith((":", "："))):
        _drop(above, left_out)
