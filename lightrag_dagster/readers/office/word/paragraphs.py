"""Paragraphs of a Word part: joined ones, headings by style or outline level, and numbers of lists."""

from lxml import etree

from lightrag_dagster.readers.office.word.marks import label
from lightrag_dagster.readers.office.word.numbering import Label, WordNumbering
from lightrag_dagster.readers.office.word.styles import WordStyles
from lightrag_dagster.readers.office.word.xml import W, all_of, find, name_of, new, number, remove, text_of

_BULLETS, _NUMBERS = "1", "2"
_LEVELS = 9
_CONTAINERS = tuple(f"{W}{name}" for name in ("body", "tc", "txbxContent", "footnote", "endnote", "comment"))


def lists() -> bytes:
    """Return the lists that `write_outline` puts paragraphs into: one of bullets, one of numbers."""
    root = new("numbering")
    for name, form in ((_BULLETS, "bullet"), (_NUMBERS, "decimal")):
        abstract = new("abstractNum", abstractNumId=name)
        for place in range(_LEVELS):
            level = new("lvl", ilvl=str(place))
            level.append(new("numFmt", val=form))
            abstract.append(level)
        root.append(abstract)
    for name in (_BULLETS, _NUMBERS):
        one = new("num", numId=name)
        one.append(new("abstractNumId", val=name))
        root.append(one)
    return bytes(etree.tostring(root, encoding="UTF-8"))


def join_paragraphs(root: etree._Element) -> None:
    """Join a paragraph whose end was deleted, or that is a large first letter, with the next one."""
    for paragraph in all_of(root, "p"):
        frame = find(paragraph, "pPr/framePr")
        is_letter = frame is not None and frame.get(f"{W}dropCap") in ("drop", "margin")
        is_deleted = any(find(paragraph, f"pPr/rPr/{name}") is not None for name in ("del", "moveFrom"))
        if not is_letter and not is_deleted:
            continue
        following = paragraph.getnext()
        if following is not None and following.tag == f"{W}p":
            at = 1 if find(following, "pPr") is not None else 0
            for child in reversed([one for one in paragraph if name_of(one) != "pPr"]):
                following.insert(at, child)
            remove(paragraph)
        elif is_deleted:  # nothing follows that it could be joined with
            for mark in all_of(paragraph, "del", "moveFrom"):
                remove(mark)


def write_outline(root: etree._Element, styles: WordStyles, numbering: WordNumbering) -> None:
    """Give headings the styles that mammoth knows, and numbered paragraphs their numbers as text.

    An item of a list is as deep as the items above it say: below a heading or a clause, a list begins again. A number
    with those above it, as in 1.2, is not of a list.
    """
    depths = _Depths()
    for paragraph in all_of(root, "p"):
        properties = find(paragraph, "pPr")
        level = styles.outline_level(paragraph)
        found = numbering.label(paragraph)
        is_item = level in (None, -1) and found is not None and not found.is_whole
        depth = depths.of(paragraph, found.level if is_item and found else None)
        if properties is None:
            if found is None:
                continue
            properties = new("pPr")
            paragraph.insert(0, properties)
        for name in ("numPr", *(["pStyle"] if level is not None else [])):
            for old in properties.findall(f"{W}{name}"):
                properties.remove(old)
        if level is not None and level >= 0 and text_of(paragraph):
            properties.insert(0, new("pStyle", val=f"Heading{min(level, 5) + 1}"))
        if found is not None:
            _write_number(paragraph, properties, found, depth if is_item else None)


def _write_number(paragraph: etree._Element, properties: etree._Element, found: Label, depth: int | None) -> None:
    if depth is not None:
        item = new("numPr")
        item.append(new("ilvl", val=str(min(depth, _LEVELS - 1))))
        item.append(new("numId", val=_NUMBERS if found.text else _BULLETS))
        properties.append(item)
    if found.text and _is_shown(paragraph):
        properties.addnext(new("r", label(found.text)))


def _is_shown(paragraph: etree._Element) -> bool:
    """Return True for a paragraph with something to see; an empty one is counted, and its number shown in a cell."""
    found = paragraph.iter(f"{W}t", f"{W}drawing", f"{W}pict", f"{W}sym", f"{W}object")
    is_cell = name_of(paragraph.getparent()) == "tc"
    return is_cell or any(one.tag != f"{W}t" or (one.text or "").strip() for one in found)


class _Depths:
    """The depth of each item in its list."""

    def __init__(self) -> None:
        self._container: etree._Element | None = None
        self._levels: list[int] = []

    def of(self, paragraph: etree._Element, level: int | None) -> int:
        """Return the depth of a paragraph at a level of its list; None for one outside of lists."""
        container = next(paragraph.iterancestors(*_CONTAINERS), None)
        if container is not self._container:
            self._container, self._levels = container, []
        if level is None:
            self._levels = self._levels if not text_of(paragraph) else []
            return 0
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        return len(self._levels) - 1


def fill_rows(root: etree._Element) -> None:
    """Put empty cells at the beginning of rows that begin further to the right; join cells as today's Word does."""
    for goes_on in all_of(root, "hMerge"):
        cell = goes_on.getparent().getparent()
        before = cell.getprevious() if cell is not None else None
        if goes_on.get(f"{W}val") != "restart" and before is not None and not text_of(cell):
            _join(before, cell)
    for before in all_of(root, "gridBefore"):
        row, width = before.getparent().getparent(), number(before.get(f"{W}val"))
        first = row.find(f"{W}tc") if row is not None else None
        if first is None or not width:
            continue
        cell, properties = new("tc"), new("tcPr")
        properties.append(new("gridSpan", val=str(width)))
        cell.extend((properties, new("p")))
        first.addprevious(cell)
    for span in all_of(root, "gridSpan"):
        if number(span.get(f"{W}val")) is None:
            remove(span)


def _join(cell: etree._Element, following: etree._Element) -> None:
    """Widen a cell by the one after it, which continues it."""
    properties = find(cell, "tcPr")
    if properties is None:
        return
    span = find(properties, "gridSpan")
    if span is None:
        span = new("gridSpan", val="1")
        properties.append(span)
    span.set(f"{W}val", str((number(span.get(f"{W}val")) or 1) + 1))
    remove(following)
