"""Numbers of headings, clauses and list items, which Word counts when it shows a document."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from lightrag_dagster.readers.inline import check_box
from lightrag_dagster.readers.office.word.number_formats import write_number
from lightrag_dagster.readers.office.word.styles import WordStyles
from lightrag_dagster.readers.office.word.xml import W, find, is_on, number, value

_PLACE = re.compile(r"%([1-9])")
_CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent//{*}numFmt"
_MOST_LINKS = 10
_BOXES = {sign: f"- {check_box(sign != '☐')}" for sign in "☐☒☑"}  # as pandoc writes lists of tasks


class Label(NamedTuple):
    """The number of a paragraph as shown, "" for a bullet; its level; True if it names the numbers above it, as 1.2."""

    text: str
    level: int
    is_whole: bool


@dataclass
class _Level:
    start: int
    form: str
    text: str
    digits: int
    restart: int | None
    is_legal: bool
    style: str | None


@dataclass
class _Abstract:
    """A definition of levels, with the numbers counted so far: lists that share a definition go on counting."""

    levels: dict[int, _Level]
    link: str | None
    counts: dict[int, int] = field(default_factory=dict)


@dataclass
class _List:
    abstract: str
    starts: dict[int, int]
    levels: dict[int, _Level]
    begun: set[int] = field(default_factory=set)


class WordNumbering:
    """The lists of a document; counts their paragraphs, which must be asked for in the order of the document."""

    def __init__(self, root: etree._Element | None, styles: WordStyles) -> None:
        """Take the root of the part with the lists; None if there is none."""
        self._styles = styles
        self._abstracts: dict[str, _Abstract] = {}
        self._lists: dict[str, _List] = {}
        if root is None:
            return
        for one in root.iterfind(f"{W}abstractNum"):
            link = value(one, "numStyleLink")
            self._abstracts[one.get(f"{W}abstractNumId") or ""] = _Abstract(_levels(one), link)
        for one in root.iterfind(f"{W}num"):
            starts, levels = dict[int, int](), dict[int, _Level]()
            for override in one.iterfind(f"{W}lvlOverride"):
                start = number(value(override, "startOverride"))
                if start is not None:
                    starts[number(override.get(f"{W}ilvl")) or 0] = start
                levels |= _levels(override)
            self._lists[one.get(f"{W}numId") or ""] = _List(value(one, "abstractNumId") or "", starts, levels)

    def label(self, paragraph: etree._Element) -> Label | None:
        """Return the number of a paragraph; None for one outside of lists."""
        name, said, styles = self._styles.numbering(paragraph)
        found, abstract = self._resolve(name)
        if found is None or abstract is None:
            return None
        levels = abstract.levels | found.levels
        place = said if said is not None else next((n for n, one in levels.items() if one.style in styles), 0)
        level = levels.get(place)
        if level is None:
            return None
        self._count(found, abstract, levels, place)
        if level.form == "bullet":  # a blank one, as by pandoc, is of a further paragraph of an item
            return None if level.text.isspace() else Label(_BOXES.get(level.text, ""), place, is_whole=False)
        counts = abstract.counts

        def write(found: re.Match[str]) -> str:
            shown = int(found[1]) - 1
            one = levels.get(shown)
            if one is None:
                return ""
            count = counts.get(shown, one.start)
            form = "decimal" if level.is_legal else one.form
            return write_number(count, form).rjust(one.digits, "0") if one.digits else write_number(count, form)

        text = " ".join(_PLACE.sub(write, level.text).split())
        return Label(text, place, is_whole=len(_PLACE.findall(level.text)) > 1) if text else None

    def _resolve(self, name: str | None) -> tuple[_List | None, _Abstract | None]:
        """Return a list and its definition, which may be behind a style of lists."""
        for _ in range(_MOST_LINKS):
            found = self._lists.get(name or "")
            abstract = self._abstracts.get(found.abstract) if found else None
            if abstract is None or abstract.link is None:
                return found, abstract
            name = self._styles.list_of(abstract.link)
        return None, None

    def _count(self, found: _List, abstract: _Abstract, levels: dict[int, _Level], place: int) -> None:
        counts = abstract.counts
        start = found.starts.get(place, levels[place].start)
        if place in found.starts and place not in found.begun:
            counts.pop(place, None)
        found.begun.add(place)
        counts[place] = counts.get(place, start - 1) + 1
        for higher in range(place):  # a level that was left out counts as begun, so that 2.1.1 is followed by 2.2
            if higher in levels:
                counts.setdefault(higher, found.starts.get(higher, levels[higher].start))
        for deeper in [one for one in counts if one > place]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or place < restart:
                del counts[deeper]


def _levels(owner: etree._Element) -> dict[int, _Level]:
    return {number(one.get(f"{W}ilvl")) or 0: _level(one) for one in owner.iterfind(f"{W}lvl")}


def _level(element: etree._Element) -> _Level:
    start = number(value(element, "start"))
    form = find(element, "numFmt")
    if form is None:
        form = element.find(_CHOICE)
    kind = "decimal" if form is None else form.get(f"{W}val") or "decimal"
    # A format of its own is an example, "001, 002, …".
    example = (form.get(f"{W}format") or "").split(",")[0].strip() if form is not None and kind == "custom" else ""
    return _Level(
        start=1 if start is None else start,
        form=kind,
        text=value(element, "lvlText") or "",
        digits=len(example) if example.isdecimal() else 0,
        restart=number(value(element, "lvlRestart")),
        is_legal=bool(is_on(element, "isLgl")),
        style=value(element, "pStyle"),
    )
