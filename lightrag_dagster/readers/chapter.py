"""A chapter of a book: XHTML as books have it, with names of characters, bare ampersands, broken markup."""

import re
from collections.abc import Iterator
from html import unescape

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.decoding import XML_ENCODING, Decoded, decode
from lightrag_dagster.readers.html.blocks import LINES

_XML = re.compile(r"^\ufeff?\s*<\?xml[^>]*\?>")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")  # UTF-16
_MARK = re.compile(rb"<!\[CDATA\[.*?\]\]>|&(?:#?[A-Za-z0-9]{1,40};)?|<(?![A-Za-z_/!?])", re.DOTALL)
_OF_XML = (b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&#38;", b"&#60;")
_NO_CHARACTERS = bytes.maketrans(bytes({*range(0x20)} - {*b"\t\n\r"}), b" " * 29)
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([A-Za-z][\w:-]*)([^<>]*)/>"
)
_WITHOUT_REMARKS = {"remove_comments": True, "remove_pis": True}
_NOTE = ("noteref", "doc-noteref")
_LINKED = 0.8  # share of the text
_LEFT_OUT = "left-out"
_NUMBER = re.compile(r"\d{1,3}")
_BEHIND_WORD = re.compile(r"""[^\W\d_][.,!?…"'“”’»]{0,2}\Z""")
_IN_BRACKETS = re.compile(r"\s*[\[(].*[\])]\s*", re.DOTALL)


class Chapter:
    """A chapter as well-formed markup, and its text; `left_out` has how characters are read, and what is hidden.

    `note` says what is in doubt about its encoding. `is_linked` is set if nearly all of its text is in links, as in a
    table of contents.
    """

    def __init__(self, data: bytes) -> None:
        self._root, self.note = _parse(data)
        self.left_out = tuple(filter(None, self._leave_out()))
        body = self._root.find("{*}body")
        self.text = _text(body if body is not None else self._root)
        links = list(self._root.iter("{*}a"))
        self.is_linked = sum(len(_text(link)) for link in links) > _LINKED * len(self.text)
        for link in links:
            self._mark_note(link)
        self.markup = etree.tostring(self._root, encoding="unicode").replace("\xa0", " ")

    def _leave_out(self) -> Iterator[str]:
        elements = list(self._root.iter("{*}rt", "{*}rp"))
        elements += [one for one in self._root.iter(etree.Element) if one.get("hidden", "until-found") != "until-found"]
        for element in elements:
            yield _text(element)
            element.tag = _LEFT_OUT
        etree.strip_elements(self._root, _LEFT_OUT, with_tail=False)

    def _mark_note(self, link: etree._Element) -> None:
        """Set the number of a note in brackets, if nothing else sets it apart from the word before it."""
        kinds = [str(value) for name, value in link.items() if name.rpartition("}")[2] in ("type", "epub:type", "role")]
        raised = link.getparent() is not None and str(link.getparent().tag).endswith("sup")
        text = "".join(map(str, link.itertext()))
        is_note = any(kind in _NOTE for kind in kinds) or (_NUMBER.fullmatch(text) and _is_behind_word(link))
        if not is_note or raised or link.find("{*}sup") is not None:
            return
        if text.strip() and not _IN_BRACKETS.fullmatch(text):
            for child in list(link):
                link.remove(child)
            link.text = f"[{text.strip()}]"


def _text(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _is_behind_word(link: etree._Element) -> bool:
    """Return True if a link to a place follows a word at once, or the full stop, comma or quotation mark behind it."""
    before, parent = link.getprevious(), link.getparent()
    if before is not None:
        begins_line = not before.tail and str(before.tag).rpartition("}")[2] in LINES
        text = "" if begins_line else "".join(map(str, before.itertext())) + (before.tail or "")
    else:
        text = parent.text or "" if parent is not None else ""
    return "#" in str(link.get("href")) and bool(_BEHIND_WORD.search(text))


def _parse(data: bytes) -> tuple[etree._Element, str | None]:
    """Return the tree of a chapter, as HTML if it is not XML, and what is in doubt about its encoding."""
    if data.startswith(_WIDE):
        data = _XML.sub("", decode_chapter(data).text).encode()
    data = _MARK.sub(_written, data.translate(_NO_CHARACTERS))
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, **_WITHOUT_REMARKS)
    root = etree.fromstring(data, parser) if data.strip() else None
    if root is not None and all(error.domain_name == "NAMESPACE" for error in parser.error_log):
        return root, None
    text, note = decode_chapter(data)
    page = _CLOSED.sub(r"<\1\2></\1>", _XML.sub("", text))
    try:
        return lxml_html.document_fromstring(
            page.encode(), lxml_html.HTMLParser(encoding="utf-8", **_WITHOUT_REMARKS)
        ), note
    except etree.ParserError:  # no element at all
        return etree.Element("html"), note


def decode_chapter(data: bytes) -> Decoded:
    """Return the text of a chapter; a wrong byte costs only itself, not the book."""
    declared = None if data.startswith(_WIDE) else XML_ENCODING.search(data, 0, 200)
    try:
        return decode(data, "utf-16" if data.startswith(_WIDE) else declared[1].decode() if declared else None)
    except UnreadableError:
        return Decoded(data.decode("utf-8", "replace"), "its encoding cannot be told, bytes stand as \ufffd")


def _written(found: re.Match[bytes]) -> bytes:
    """Return a mark as every parser reads it: characters by their numbers, bare marks escaped."""
    text = found[0]
    if text == b"<":
        return b"&lt;"
    if text in _OF_XML or text.startswith(b"<!"):
        return text
    characters = unescape(text.decode())
    if characters.startswith("&"):
        return b"&amp;" + text[1:]
    return "".join(f"&#{ord(one)};" for one in characters).encode()
