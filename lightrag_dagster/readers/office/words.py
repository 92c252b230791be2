"""All text of Office documents, by the text nodes of their XML: what the readers of the formats are compared with."""

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part

_DOCX_PARTS = re.compile(r"word/(?:document|footnotes|endnotes|comments)\d*\.xml")
_BREAKS = ("tab", "br", "cr", "noBreakHyphen", "ptab")


def docx(data: bytes) -> Iterator[str]:
    """Yield the paragraphs of a Word document with its notes and comments, without formulas and deleted text."""
    with open_archive(data, "word/document.xml") as archive:
        for name in filter(_DOCX_PARTS.fullmatch, archive.namelist()):
            for paragraph in parse_part(archive, name).iter("{*}p"):
                yield "".join(_texts(paragraph))


def _texts(paragraph: etree._Element) -> Iterable[str]:
    """Yield the text of a paragraph's runs; paragraphs inside it, as of text boxes, have their own."""
    for element in paragraph:
        kind = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if kind == "t":
            yield element.text or ""
        elif kind in _BREAKS:
            yield " "
        elif kind not in ("p", "oMath", "oMathPara", "instrText", "delText", "Fallback"):
            yield from _texts(element)
