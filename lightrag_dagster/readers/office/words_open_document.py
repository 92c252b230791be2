"""All text of OpenDocument texts, by the text nodes of their XML, apart from their reader."""

from collections.abc import Iterator

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part

_NO_CONTENT = ("tracked-changes", "forms", "creator", "date", "sender-initials", "note-citation", "math")


def odt(data: bytes) -> Iterator[str]:
    """Yield the paragraphs of a text, with notes, comments and text boxes, without formulas and deleted text."""
    with open_archive(data, "content.xml") as archive:
        body = parse_part(archive, "content.xml").find("{*}body")
        for element in body.iter("{*}p", "{*}h") if body is not None else ():
            if next(element.iterancestors("{*}tracked-changes", "{*}forms"), None) is None:
                yield "".join(_texts(element))


def _texts(element: etree._Element) -> Iterator[str]:
    """Yield the text of a paragraph; those inside it, as of notes, have their own."""
    yield element.text or ""
    for child in element:
        kind = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if kind in ("s", "tab", "line-break", "frame", "note"):
            yield " "
        elif kind and kind not in ("p", "h", "annotation", *_NO_CONTENT):
            yield from _texts(child)
        yield child.tail or ""
