"""HTML without boilerplate as Markdown, for Word documents and chapters of books."""

import re
from collections.abc import Callable
from typing import Any

from bs4 import BeautifulSoup
from lxml import etree
from markdownify import ATX, MarkdownConverter

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.readers.office.formulas import as_text

_FORMULA = re.compile(r"^(?:\w+:)?math$")


class _Converter(MarkdownConverter):
    """A converter to readable Markdown: images, except figures, are their captions; only bars in cells are escaped."""

    def convert_img(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Keep the caption of an image, and the name of a figure."""
        caption, name = str(element.get("alt") or ""), str(element.get("src") or "")
        return mark_of(caption, name) if name.startswith("figure-") else caption

    def convert_a(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Keep links that lead out of the document."""
        leads_out = str(element.get("href") or "").startswith(("http:", "https:", "mailto:"))
        return f"[{text.strip()}]({element['href']})" if leads_out and text.strip() else text

    def convert_td(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Escape bars and line breaks in the cell, and fill the columns that it spans."""
        columns = str(element.get("colspan") or "1")
        empty = "  |" * (min(int(columns), 1000) - 1 if columns.isdecimal() else 0)
        cell = " ".join(text.split()).replace("|", r"\|")
        return f" {cell} |{empty}"

    convert_th = convert_td


def to_markdown(
    page: str | bytes, *, xml: bool = False, figure_of: Callable[[str], str | None] = lambda place: place
) -> str:
    """Return the whole text of an HTML or XHTML page as Markdown; `figure_of` names the figure of an image's URL."""
    recovering = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    soup = BeautifulSoup(page, "lxml-xml" if xml else "lxml")
    for element in soup(["head", "script", "style"]):
        element.decompose()
    for formula in soup(_FORMULA):
        formula.replace_with(as_text(etree.fromstring(str(formula), recovering)))
    for image in soup("img"):
        image["src"] = figure_of(str(image.get("src") or "")) or ""
    converter = _Converter(
        heading_style=ATX, bullets="-", escape_asterisks=False, escape_underscores=False, table_infer_header=True
    )
    return str(converter.convert_soup(soup))
