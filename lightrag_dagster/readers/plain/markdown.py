"""Markdown, with its front matter."""

import re

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import raised
from lightrag_dagster.readers.plain.front_matter import split_front_matter

_CODE_OR_TAG = re.compile(
    r"^(?P<fence> {0,3}(?:```+(?=[^`\n]*$)|~~~+)).*?(?:^(?P=fence).*?$|\Z)"
    r"|(?P<ticks>(?<!`)`+(?!`))(?:[^\n]|\n(?!\s*\n))*?(?<!`)(?P=ticks)(?!`)"
    r"|\\<"
    r"|<(?P<tag>sup|sub|u)\b[^<>\n]{0,100}>(?P<text>[^<>\n]{0,200})</(?P=tag)\s*>",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def read(data: bytes) -> Content:
    """Read Markdown as it is, without its front matter, and with what is raised or lowered as text of its line."""
    decoded, note = decode(data)
    properties, text = split_front_matter(decoded)
    return Content(_CODE_OR_TAG.sub(_plain, text) if "</" in text else text, properties, note=note)


def _plain(found: re.Match[str]) -> str:
    """Return the text of a tag; code stays as it is."""
    if found["tag"] is None:
        return found[0]
    text = found["text"]
    if found["tag"].lower() != "sup":
        return text
    return raised(found.string[max(0, found.start() - 1) : found.start()], text)
