"""All text of presentations, by the text nodes of their XML, apart from their reader; formulas are left out."""

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part

_PARTS = re.compile(r"ppt/(?:slides|notesSlides|comments|diagrams)/(?!drawing|layout|quickStyle|colors)[^/]+\.xml")
_CHARTS = re.compile(r"ppt/charts/chart\d*\.xml")
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def pptx(data: bytes) -> Iterator[str]:
    """Yield the paragraphs of the slides, notes, comments and diagrams of a presentation, and the words of charts."""
    with open_archive(data, "ppt/presentation.xml") as archive:
        for name in archive.namelist():
            if _PARTS.fullmatch(name):
                for paragraph in parse_part(archive, name).iter("{*}p", "{*}text"):
                    if not _is_replaced(paragraph):
                        yield "".join(_texts(paragraph))
            elif _CHARTS.fullmatch(name):
                for paragraph in parse_part(archive, name).iterfind("{*}chart/{*}title//{*}p"):
                    yield "".join(_texts(paragraph))


def _is_replaced(element: etree._Element) -> bool:
    """Return True for what only programs show that do not know the element beside it."""
    old = next(element.iterancestors(f"{_COMPATIBILITY}Fallback"), None)
    new = old.getparent().find(f"{_COMPATIBILITY}Choice") if old is not None else None
    return new is not None and any(one.text for one in new.iter("{*}t"))


def _texts(paragraph: etree._Element) -> Iterable[str]:
    if not len(paragraph):
        yield paragraph.text or ""
    for element in paragraph:
        kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if kind == "t":
            yield element.text or ""
        elif kind in ("br", "tab"):
            yield " "
        elif kind in ("r", "fld"):
            # A raised number is one of its own.
            is_raised = element.find("{*}rPr[@baseline]") is not None
            yield " " if is_raised and (element.findtext("{*}t") or "")[:1].isdecimal() else ""
            yield from _texts(element)
