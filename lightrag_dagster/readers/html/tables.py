"""The tables of a page before it becomes Markdown: detection of layout tables and header rows.

Markdown needs a header row, and pages have tables without one. As pandoc does, such a table gets an empty one, unless
its first row looks like a header.
"""

import re
from collections.abc import Sequence

from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import make_paragraph, unname
from lightrag_dagster.readers.html.spans import Row, spread

EMPTY = "\ue000"
"""The text in the cells of an empty header until the page is Markdown: without text, the row would be left out."""

_ROWS = "./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr"
_PARTS = ("thead", "tbody", "tfoot", "tr", "td", "th", "colgroup")
_BLOCKS = "|".join(f".//{tag}" for tag in ("table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "article", "form"))
_NUMBER_LENGTH = 40
_LONG = 400  # characters; a cell with more is a part of the page
_UNIT = r"[^\W\d_]{1,4}[²³]?(?:/[^\W\d_]{1,3})?"
_NUMBER = re.compile(rf"[\s(+\-−–~<>≤≥±$€£¥]*\d[\d\s.,:/%°'’×\-–]*(?:{_UNIT})?[\s)%*†€]*")


def tidy_tables(tree: lxml_html.HtmlElement) -> None:
    """Turn tables for layout into blocks; give others one header row, cells without lists, and a caption above."""
    for table in list(tree.iter("table")):
        rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.xpath(_ROWS)]
        rows = [row for row in rows if row]
        if _is_layout(table, rows):
            _unwrap(table)
        else:
            _move_caption(table)
            _flatten_lists(table)
            if table.xpath("boolean(.//*[@rowspan or @colspan])"):
                rows = spread(rows)
            _set_header(table, rows)


def _is_layout(table: lxml_html.HtmlElement, rows: Sequence[Row]) -> bool:
    """Return True if a table is for layout: marked so, or without header and one row, one column, or with blocks."""
    is_listing = max(map(len, rows), default=0) < 2 and table.find(".//pre") is not None
    if is_listing or table.get("role") in ("presentation", "none"):
        return True
    if any(cell.tag == "th" for row in rows for cell in row) or table.find("./caption") is not None:
        return False
    cells = [cell for row in rows for cell in row]
    return (
        len(rows) < 2
        or max(map(len, rows)) < 2
        or bool(table.xpath(f"boolean({_BLOCKS})"))
        or any(len(cell.text_content()) > _LONG for cell in cells)
    )


def _unwrap(table: lxml_html.HtmlElement) -> None:
    """Make blocks of a table and its cells; tables in it stay."""
    left = [table]
    while left:
        element = left.pop()
        left += [child for child in element if child.tag in _PARTS]
        is_cell = element.tag in ("td", "th")
        element.tag = "div"
        if is_cell:
            make_paragraph(element)


def _move_caption(table: lxml_html.HtmlElement) -> None:
    """Put the caption above the table; inside, it would become a row."""
    caption = table.find("./caption")
    if caption is not None:
        caption.tag, caption.tail = "p", None
        unname(caption)
        table.addprevious(caption)


def _flatten_lists(table: lxml_html.HtmlElement) -> None:
    """Turn each list in a cell into a line of its items, since Markdown's cells cannot hold lists."""
    for item in list(table.iter("li", "dt", "dd")):
        follows = item.getnext() is not None
        item.tag, item.tail = "span", (": " if item.tag == "dt" else "; ") if follows else " "
    for one in list(table.iter("ul", "ol", "dl")):
        one.tag, one.text = "span", " "


def _set_header(table: lxml_html.HtmlElement, rows: Sequence[Row]) -> None:
    """Make the first row the header if it looks like one, or put an empty one above; other rows are not headers."""
    if not rows:
        return
    first = rows[0]
    is_header = _looks_like_header(first, rows[1:])
    for row in rows[1:] if is_header else rows:
        for cell in row:
            cell.tag = "td"
    if is_header:
        for cell in first:
            cell.tag = "th"
        return
    header = lxml_html.Element("tr")
    for _ in range(max(map(len, rows))):
        cell = lxml_html.Element("th")
        cell.text = EMPTY
        header.append(cell)
    first[0].getparent().addprevious(header)


def _looks_like_header(first: Row, others: Sequence[Row]) -> bool:
    """Return True if a row is a header: by its tags, bold cells, an empty corner, or numbers below its words."""
    heading = [cell.tag == "th" for cell in first]
    if any(heading) or first[0].getparent().getparent().tag == "thead":
        return not any(heading) or all(heading) or any(heading[1:])
    texts = [_text(cell) for cell in first]
    if not all(texts[1:]):
        return False
    if not texts[0] or all(_is_bold(cell) for cell in first):
        return True
    if any(map(_is_number, texts)) or max(map(len, texts)) > _LONG // 4:
        return False
    columns = ([_text(row[place]) for row in others if place < len(row)] for place in range(len(first)))
    return any(any(below) and all(map(_is_number, filter(None, below))) for below in columns)


def _text(cell: lxml_html.HtmlElement) -> str:
    return " ".join(cell.text_content().split())


def _is_bold(cell: lxml_html.HtmlElement) -> bool:
    bold = [_text(one) for one in cell.xpath("./b | ./strong | ./p/b | ./p/strong")]
    return " ".join(bold) == _text(cell)


def _is_number(text: str) -> bool:
    return len(text) <= _NUMBER_LENGTH and bool(_NUMBER.fullmatch(text))
