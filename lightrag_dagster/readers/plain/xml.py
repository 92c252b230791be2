"""XML, read as text: its tags explain its values. It is not parsed, so a file cannot be hostile."""

import re

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode

_ENCODING = re.compile(rb"""<\?xml[^>]{0,100}?encoding=["']([A-Za-z0-9_.:-]{1,40})["']""")


def read(data: bytes) -> Content:
    """Read XML as it is, in the encoding that it declares."""
    declared = _ENCODING.match(data)
    text, note = decode(data, declared[1].decode("ascii") if declared else None)
    return Content(text, note=note)
