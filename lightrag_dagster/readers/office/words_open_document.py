"""All text of OpenDocument texts, by the text nodes of their XML, apart from their reader."""

from collections.abc import Iterator, Set

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part

_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_NO_CONTENT = ("tracked-changes", "forms", "creator", "date", "sender-initials", "note-citation", "math")


def odt(data: bytes) -> Iterator[str]:
    """Yield the paragraphs of a text, with notes, comments and text boxes, without formulas and deleted text."""
    with open_archive(data, "content.xml") as archive:
        parts = [parse_part(archive, name) for name in ("content.xml", "styles.xml") if name in archive.namelist()]
        raised = frozenset(
            style.get(f"{_STYLE}name") or ""
            for part in parts
            for style in part.iterfind(f".//{_STYLE}style")
            if style.find(f"{_STYLE}text-properties[@{_STYLE}text-position]") is not None
        )
        body = parts[0].find("{*}body")
        for element in body.iter("{*}p", "{*}h") if body is not None else ():
            if next(element.iterancestors("{*}tracked-changes", "{*}forms"), None) is None:
                yield "".join(_texts(element, raised))


def _texts(element: etree._Element, raised: Set[str]) -> Iterator[str]:
    """Yield the text of a paragraph; those inside it, as of notes, have their own."""
    yield element.text or ""
    for child in element:
        kind = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if kind in ("s", "tab", "line-break", "frame", "note"):
            yield " "
        elif kind and kind not in ("p", "h", "annotation", *_NO_CONTENT):
            # A raised number is one of its own.
            yield " " if child.get(f"{_TEXT}style-name") in raised and (child.text or "")[:1].isdecimal() else ""
            yield from _texts(child, raised)
        yield child.tail or ""
