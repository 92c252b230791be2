"""Styles of an OpenDocument text: what of them says something about the text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lxml import etree

from lightrag_dagster.readers.office.open_document.names import FORMATTING, STYLE, TEXT

_MOST_PARENTS = 20
_BOLD = ("bold", "600", "700", "800", "900")
_CODE = ("Source_20_Text", "Source_Text", "Teletype")
_PREFORMATTED = ("Preformatted_20_Text", "Preformatted_Text")


@dataclass(frozen=True)
class Look:
    """The looks of a text that matter here."""

    bold: bool = False
    italic: bool = False
    struck: bool = False
    hidden: bool = False
    raised: int = 0  # 1 above the line, -1 below
    code: bool = False
    preformatted: bool = False
    title: bool = False
    list_style: str = ""


class Styles:
    """The styles of a document, by family and name."""

    def __init__(self, parts: Iterable[etree._Element]) -> None:
        """Take the parts that define some; a later one replaces an earlier one of the same name."""
        self.lists: dict[str, etree._Element] = {}
        self.outline: etree._Element | None = None
        self._styles: dict[tuple[str, str], etree._Element] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        for part in parts:
            for one in part.iter(f"{STYLE}style"):
                self._styles[one.get(f"{STYLE}family") or "", one.get(f"{STYLE}name") or ""] = one
            for one in part.iter(f"{TEXT}list-style"):
                self.lists[one.get(f"{STYLE}name") or ""] = one
            self.outline = next(part.iter(f"{TEXT}outline-style"), self.outline)

    def look(self, family: str, name: str | None) -> Look:
        """Return the look of a style with what it has from its parents."""
        key = (family, name or "")
        if key not in self._looks:
            self._looks[key] = self._find(*key)
        return self._looks[key]

    def _find(self, family: str, name: str) -> Look:
        chain = list[tuple[str, etree._Element | None]]()
        while name and len(chain) < _MOST_PARENTS:
            found = self._styles.get((family, name))
            chain.append((name, found))
            name = found.get(f"{STYLE}parent-style-name") or "" if found is not None else ""
        look = Look()
        for name, element in reversed(chain):
            look = replace(
                look,
                code=look.code or name in _CODE,
                preformatted=look.preformatted or name in _PREFORMATTED,
                title=look.title or name == "Title",
            )
            if element is not None:
                look = replace(look, list_style=element.get(f"{STYLE}list-style-name") or look.list_style)
                properties = element.find(f"{STYLE}text-properties")
                look = _with(look, properties.attrib) if properties is not None else look
        return look


def _with(look: Look, properties: Mapping[str, str]) -> Look:
    """Return a look with what the properties of a text say."""
    if weight := properties.get(f"{FORMATTING}font-weight"):
        look = replace(look, bold=weight in _BOLD)
    if slant := properties.get(f"{FORMATTING}font-style"):
        look = replace(look, italic=slant in ("italic", "oblique"))
    if line := properties.get(f"{STYLE}text-line-through-style"):
        look = replace(look, struck=line != "none")
    if display := properties.get(f"{TEXT}display"):
        look = replace(look, hidden=display == "none")
    if position := properties.get(f"{STYLE}text-position"):
        first = position.split()[0]
        raised = 1 if first == "super" else -1 if first == "sub" or first.startswith("-") else int(first != "0%")
        look = replace(look, raised=raised)
    return look
