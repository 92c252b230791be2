"""HTML without boilerplate as Markdown, for Word documents and chapters of books."""

import re
from collections.abc import Callable
from typing import Any

from bs4 import BeautifulSoup
from lxml import etree
from markdownify import ATX, MarkdownConverter

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.readers.html.item_numbers import item_numbers
from lightrag_dagster.readers.html.soup_inline import tidy_inline
from lightrag_dagster.readers.html.soup_tables import tidy_soup_tables
from lightrag_dagster.readers.inline import fenced
from lightrag_dagster.readers.office.formulas import as_text
from lightrag_dagster.readers.office.word.marks import split_label, write_labels

_FORMULA = re.compile(r"^(?:\w+:)?math$")
_NO_TEXT = ("head", "script", "style")
_BACK = ("↑", "↩")
_LINE = re.compile(r"^(?=.)", re.MULTILINE)


class _Converter(MarkdownConverter):
    """A converter to readable Markdown: images are figures; items have their own numbers; only bars are escaped."""

    def convert_img(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Keep the name of a figure with its caption; other images are texts already."""
        return mark_of(str(element.get("alt") or ""), str(element.get("src") or ""))

    def convert_a(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Keep links that lead out of the document; those from a note back to its place are left out."""
        if text.strip(" \ufe0e\ufe0f") in _BACK and str(element.get("href") or "").startswith("#"):
            return ""
        leads_out = str(element.get("href") or "").startswith(("http:", "https:", "mailto:"))
        return f"[{text.strip()}]({element['href']})" if leads_out and text.strip() else text

    def convert_li(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Begin an item with the number that it has in the document; an empty one shows it in a cell alone."""
        number, rest = split_label(text.strip())
        if not rest.strip():
            return f"{number}\n" if "td" in parent_tags else "\n"
        number = number or str(element.get("number") or "-")
        return f"{number} {_LINE.sub(' ' * (len(number) + 1), rest.strip()).lstrip()}\n"

    def convert_pre(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Put code between fences that are not in it."""
        code = text.strip("\n").rstrip()
        return f"\n\n{fenced(code)}\n\n" if code else ""

    def convert_td(self, element: Any, text: str, parent_tags: set[str]) -> str:
        """Escape bars and line breaks in the cell."""
        cell = " ".join(write_labels(text).split()).replace("|", r"\|")
        return f" {cell} |"

    convert_th = convert_td


def to_markdown(
    page: str | bytes, *, xml: bool = False, figure_of: Callable[[str], str | None] = lambda place: place
) -> str:
    """Return the whole text of an HTML or XHTML page as Markdown; `figure_of` names the figure of an image's URL."""
    recovering = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    soup = BeautifulSoup(
        page,
        "lxml-xml" if xml else "lxml",
        preserve_whitespace_tags={"pre"},
        multi_valued_attributes=None,
    )
    # Asked for several names or by an expression, the library takes five times as long.
    for element in [one for one in soup(True) if one.name in _NO_TEXT]:
        element.decompose()
    for formula in [one for one in soup(True) if _FORMULA.match(one.name)]:
        formula.replace_with(as_text(etree.fromstring(str(formula), recovering)))
    for image in soup("img"):
        image["src"] = figure_of(str(image.get("src") or "")) or ""
    for line in [line for code in soup("pre") for line in code("br")]:
        line.replace_with("\n")
    for ordered in soup("ol"):
        items = ordered("li", recursive=False)
        said = {name: str(value) for name, value in ordered.attrs.items()}
        numbers = item_numbers(said, [str(one.get("value") or "") for one in items])
        for item, number in zip(items, numbers, strict=True):
            item["number"] = number
    tidy_inline(soup)
    tidy_soup_tables(soup)
    converter = _Converter(
        heading_style=ATX, bullets="-", escape_asterisks=False, escape_underscores=False, table_infer_header=True
    )
    return write_labels(str(converter.convert_soup(soup)))
