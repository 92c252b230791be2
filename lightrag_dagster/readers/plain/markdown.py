"""Markdown, with its front matter."""

import re

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import raised, struck, write_struck
from lightrag_dagster.readers.plain.front_matter import split_front_matter

_ANY = re.compile(r"</|(?<![\s~^])([~^])[+\-−–\w]{1,6}\1(?!\1)")
_EMPHASIS = "b|i|em|strong|span|font"
_CODE_OR_TAG = re.compile(
    r"(?=[ `~\\<:\]^])(?:"  # as trying all at each character takes twice as long
    r"^(?P<fence> {0,3}(?:```+(?=[^`\n]*$)|~~~+)).*?(?:^(?P=fence).*?$|\Z)"
    r"|(?P<ticks>(?<!`)`+(?!`))(?:[^\n]|\n(?!\s*\n))*?(?<!`)(?P=ticks)(?!`)"
    r"|\\<|://[^\s<>]+|\]\([^()\s]+\)"
    rf"|<(?P<tag>sup|sub|u|ins|s|del|strike|mark|{_EMPHASIS})\b[^<>\n]{{0,100}}>"
    rf"(?P<text>(?:[^<>\n]|</?(?:{_EMPHASIS})>){{0,200}}?)</(?P=tag)\s*>"
    r"|(?<=[^\W\d_]|[)\]])~(?P<lowered>\d{1,4}[+\-−–]?|[a-z]{1,3})~(?!~)"
    r"|(?<=[\w)\]~])\^(?P<raised>[+\-−–]?[0-9a-z]{1,4}[+\-−–]?)\^)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_TAG, _IN_WORD = re.compile("<[^<>]*>"), re.compile(r"[^\W\d_]\0[^\W\d_]")


def read(data: bytes) -> Content:
    """Read Markdown as it is, without its front matter, and with what is raised or lowered as text of its line."""
    decoded, note = decode(data)
    properties, text = split_front_matter(decoded)
    return Content(in_line(text), properties, note=note)


def in_line(text: str) -> str:
    """Return Markdown with what is raised, lowered or marked by tags as text of its line."""
    return _CODE_OR_TAG.sub(_plain, text) if _ANY.search(text) else text


def _plain(found: re.Match[str]) -> str:
    """Return the text of a tag, or of Pandoc's marks; code and addresses stay, and emphasis that is in no word."""
    before, after = found.string[max(0, found.start() - 1) : found.start()], found.string[found.end() : found.end() + 1]
    if found["tag"] is None:
        return raised(before, found["raised"]) if found["raised"] else found["lowered"] or found[0]
    tag, text = found["tag"].lower(), _TAG.sub("", found["text"])
    if tag == "sup":
        return raised(before, text)
    if tag in ("s", "del", "strike"):
        return write_struck(struck(text))
    return text if tag in ("sub", "u", "ins") or _IN_WORD.search(f"{before}\0{text}\0{after}") else found[0]
