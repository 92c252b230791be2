"""Markdown, with its front matter."""

import re

from lightrag_dagster.core.text.sanitise import with_characters
from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import raised, struck, write_struck
from lightrag_dagster.readers.plain.front_matter import split_front_matter

_EMPHASIS = "b|i|em|strong|span|font"
_CODE_OR_TAG = re.compile(
    r"(?=[ \t`~\\<\"'&])(?:"  # as trying all at each character takes twice as long
    r"^(?P<fence> {0,3}(?:```+(?=[^`\n]*$)|~~~+)).*?(?:^(?P=fence).*?$|\Z)"
    r"|(?<=\n\n)(?: {4}|\t)(?!\s*(?:[-*+]|\d+[.)])\s)[^\n]*(?:\n(?: {4}|\t)[^\n]*)*"  # or of a list: then it stays too
    r"|(?P<ticks>(?<!`)`+(?!`))(?:[^\n]|\n(?!\s*\n))*?(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<code>pre|code)(?=[\s>]).*?(?:</(?P=code)\s*>|\Z)"
    r"|(?<==)(?P<quote>[\"'])[^\n]*?(?P=quote)|\\<|(?P<reference>&#?\w{1,31};)"
    rf"|<(?P<tag>sup|sub|u|ins|s|del|strike|mark|{_EMPHASIS})\b[^<>\n]{{0,100}}>"
    rf"(?P<text>(?:[^<>\n]|</?(?:{_EMPHASIS})>){{0,200}}?)</(?P=tag)\s*>)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_BYTES = re.compile(r"data:image/[\w.+-]{1,20};base64,[\w+/=%-]{64,}", re.ASCII)  # of an image; fewer cost little
_IN_CELL = {ord("|"): r"\|", **dict.fromkeys(b"\n\v\f\r", " ")}
_TAG, _IN_WORD = re.compile("<[^<>]*>"), re.compile(r"[^\W\d_]\0[^\W\d_]")


def read(data: bytes) -> Content:
    """Read Markdown as it is, without its front matter, and with tags and references in a line as text."""
    decoded, note = decode(data)
    properties, text = split_front_matter(decoded)
    return Content(in_line(text), properties, note=note)


def in_line(text: str) -> str:
    """Return Markdown with what is raised, lowered, marked by tags or referred to as text, and no bytes of images."""
    text = _BYTES.sub("", text)
    return _CODE_OR_TAG.sub(_plain, text) if "</" in text or "&" in text else text


def _plain(found: re.Match[str]) -> str:
    """Return the text of a tag, or a character; code and values of attributes stay, and emphasis that is in no word."""
    if found["tag"] is None:
        return with_characters(found[0]).translate(_IN_CELL) if found["reference"] else found[0]
    before = found.string[max(0, found.start() - 1) : found.start()]
    after = found.string[found.end() : found.end() + 1]
    tag, text = found["tag"].lower(), in_line(_TAG.sub("", found["text"]))
    if tag == "sup":
        return raised(before, text)
    if tag in ("s", "del", "strike"):
        return write_struck(struck(text))
    if tag in ("sub", "u", "ins") or _IN_WORD.search(f"{before}\0{text}\0{after}"):
        return text
    return found[0].replace(found["text"], in_line(found["text"]))
