"""All text of books in EPUB, by their markup, apart from their reader."""

import html
import re
from collections.abc import Iterator

from lightrag_dagster.readers.chapter import decode_chapter
from lightrag_dagster.readers.epub import chapters
from lightrag_dagster.readers.office.archive import open_archive, parse_part

_CONTAINER = "META-INF/container.xml"
_NO_TEXT = re.compile(
    r"<!--.*?-->|<(head|script|style|(?:\w+:)?math)\b[^>]*(?<!/)>.*?</\1\s*>", re.DOTALL | re.IGNORECASE
)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|s|small|span|strong|sub|sup|tt|u|var|\w+:\w+)\b[^>]*>",
    re.I,
)
_RAISED = re.compile(r"(?<=\d)<sup\b[^>]*>(?=\d)", re.IGNORECASE)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_TAG = re.compile(r"<[/!?a-zA-Z][^>]*>")


def epub(data: bytes) -> Iterator[str]:
    """Yield the text of each part in the reading order of a book, without its table of contents."""
    with open_archive(data, _CONTAINER) as archive:
        package = str(parse_part(archive, _CONTAINER).xpath("//@full-path")[0])
        for name in chapters(archive, package):
            text = decode_chapter(archive.read(name)).text
            text = _INLINE.sub("", _RAISED.sub(" ", _NO_TEXT.sub(" ", text)))
            yield html.unescape(_TAG.sub(" ", _CDATA.sub(r"\1", text)))
