"""All text of Office documents, by the text nodes of their XML: what the readers of the formats are compared with."""

import re
from collections.abc import Iterable, Iterator, Set

from lxml import etree

from lightrag_dagster.readers.office.archive import open_archive, parse_part
from lightrag_dagster.readers.office.word.runs import drop_instructions
from lightrag_dagster.readers.office.word.xml import parse

_DOCX_PARTS = re.compile(r"\.(?:(?:document|template)\.(?:macroEnabled\w*\.)?main|footnotes|endnotes|comments)\+xml$")
_BREAKS = ("tab", "br", "cr", "noBreakHyphen", "ptab", "inline")  # the last is a picture on the line
_NO_TEXT = ("p", "oMath", "oMathPara", "instrText", "delText", "del", "moveFrom")
_STYLE = re.compile(rb'styleId="([^"]+)"')
_END = "\0"  # of a raised number; no XML has it
_NUMBER = re.compile(r"\s*[+\-−–]?\d")


def docx(data: bytes) -> Iterator[str]:
    """Yield the paragraphs of a Word document with its notes and comments, as they are shown, without formulas."""
    with open_archive(data, "[Content_Types].xml") as archive:
        types = parse_part(archive, "[Content_Types].xml").iter("{*}Override")
        named = {one.get("PartName", "")[1:] for one in types if _DOCX_PARTS.search(one.get("ContentType", ""))}
        named.add("word/document.xml")
        raising = _raising(archive.read("word/styles.xml")) if "word/styles.xml" in archive.namelist() else set()
        for name in sorted(named & set(archive.namelist())):
            text, root = "", parse(archive.read(name))
            drop_instructions(root)
            for paragraph in root.iter("{*}p"):
                if _is_copy(paragraph):
                    continue
                text += "".join(_texts(paragraph, raising))
                if not _goes_on(paragraph):
                    yield _apart(text)
                    text = ""
            yield _apart(text)


def _raising(styles: bytes) -> set[str]:
    """Return the styles that raise characters."""
    blocks = styles.split(b"</w:style>") if b"superscript" in styles else ()
    return {found[1].decode() for one in blocks if b"superscript" in one and (found := _STYLE.search(one))}


def _texts(paragraph: etree._Element, raising: Set[str]) -> Iterable[str]:
    """Yield the text of a paragraph's runs; paragraphs inside it, as of text boxes, have their own.

    A number that is raised is a word apart from the one before it: 10 and 6 are not 106.
    """
    for element in paragraph:
        kind = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if kind == "t":
            text = element.text or ""
            yield f"{_END}{text}{_END}" if _NUMBER.match(text) and _is_raised(paragraph, raising) else text
        elif kind in _BREAKS:
            yield " "
        elif kind not in _NO_TEXT and not (kind == "Fallback" and _is_second(element)):
            yield from _texts(element, raising)


def _apart(text: str) -> str:
    """Return text with spaces around raised numbers; one of several runs is one number."""
    return text.replace(2 * _END, "").replace(_END, " ")


def _is_raised(run: etree._Element, raising: Set[str]) -> bool:
    if any(
        one.isdecimal() and int(one) >= 4 for one in run.xpath("*[local-name()='rPr']/*[local-name()='position']/@*")
    ):
        return True
    said = [*run.iterfind("{*}rPr/{*}vertAlign"), *run.iterfind("{*}rPr/{*}rStyle")]
    return any(one == "superscript" or one in raising for element in said for one in element.attrib.values())


def _is_copy(paragraph: etree._Element) -> bool:
    """Return True for a paragraph of a text box that stands there twice, for older programs too, or a moved one."""
    return any(
        etree.QName(one).localname == "moveFrom" or _is_second(one)
        for one in paragraph.iterancestors("{*}Fallback", "{*}moveFrom")
    )


def _is_second(fallback: etree._Element) -> bool:
    choice = fallback.getparent().find("{*}Choice")
    return choice is not None and next(choice.iter("{*}t"), None) is not None


def _goes_on(paragraph: etree._Element) -> bool:
    """Return True for a paragraph whose end was deleted, or a large first letter."""
    if any(paragraph.find(f"{{*}}pPr/{{*}}rPr/{{*}}{name}") is not None for name in ("del", "moveFrom")):
        return True
    frame = paragraph.find("{*}pPr/{*}framePr")
    kind = {} if frame is None else {etree.QName(key).localname: one for key, one in frame.attrib.items()}
    return kind.get("dropCap") in ("drop", "margin")
