"""Plain text, and other files read as they are: data, settings, source code."""

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode


def read(data: bytes) -> Content:
    """Read text as it is."""
    text, note = decode(data)
    return Content(text, note=note)
