"""Markdown, with its front matter."""

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.plain.front_matter import split_front_matter


def read(data: bytes) -> Content:
    """Read Markdown as it is, without its front matter."""
    decoded, note = decode(data)
    properties, text = split_front_matter(decoded)
    return Content(text, properties, note=note)
