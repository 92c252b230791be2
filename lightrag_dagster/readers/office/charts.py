"""Charts and diagrams (SmartArt) of PowerPoint as text: the numbers of a chart, the words of a diagram."""

import re

from lxml import etree

from lightrag_dagster.readers.office.sheets.number_formats import general, number_format
from lightrag_dagster.readers.office.word.xml import number
from lightrag_dagster.readers.plain.tables import markdown_table

_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_LITERAL = re.compile(r'"[^"]*"|\\.|[_*].|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_FORMAT = re.compile(r"(?=.*[0#?ymdhsg])(?:General|AM/PM|A/P|E[+-]|[ymdhs]|[\W\d_])+", re.IGNORECASE)
"""Formats of numbers and dates, without literals; what Office calls General in other languages has other letters."""


def chart_text(chart: etree._Element) -> str:
    """Return the titles of a chart and its axes, and a table of its numbers.

    It has a row for each category, and a column for each series. Charts of points have x values in place of categories.
    Each series has its own, so there is a table for each.
    """
    titles = map(_words, chart.iter("{*}title"))
    series = list(chart.iter("{*}ser"))
    tables = [series] if all(one.find("{*}xVal") is None for one in series) else [[one] for one in series]
    return "\n\n".join(filter(None, (*titles, *map(_table, tables))))


def chart_names(chart: etree._Element) -> str:
    """Return the titles of a chart and its axes, and the names of series that are in no cell."""
    names = (one.text or "" for one in chart.iterfind(".//{*}ser/{*}tx/{*}v"))
    return "\n\n".join(filter(None, (*map(_words, chart.iter("{*}title")), ", ".join(names))))


def diagram_text(diagram: etree._Element) -> str:
    """Return the texts of a diagram as a list, each below the one that is above it, in the order of the diagram."""
    points = list(diagram.iterfind("{*}ptLst/{*}pt"))
    names = [one.get("modelId") or f"number {place}" for place, one in enumerate(points)]
    below: dict[str, list[tuple[int, str]]] = {}
    for link in diagram.iterfind("{*}cxnLst/{*}cxn"):
        if link.get("type", "parOf") == "parOf":
            order = number(link.get("srcOrd")) or 0
            below.setdefault(link.get("srcId") or "", []).append((order, link.get("destId") or ""))
    placed = {name for others in below.values() for _, name in others}
    texts, lines = dict(zip(names, map(_words, points), strict=True)), list[str]()
    left = [(0, name) for name in reversed([*(name for name in names if name not in placed), *names])]
    while left:
        depth, name = left.pop()
        if text := texts.pop(name, ""):
            lines.append(f"{'  ' * depth}- {text}")
        left += [(depth + bool(text), other) for _, other in sorted(below.pop(name, ()), reverse=True)]
    return "\n".join(lines)


def _table(series: list[etree._Element]) -> str:
    labels: dict[int, str] = {}
    for one in reversed(series):
        labels |= _points(one, "cat") or _points(one, "xVal")
    columns = [_points(one, "val") or _points(one, "yVal") for one in series]
    names = [" ".join(_points(one, "tx").values()) or f"Series {n}" for n, one in enumerate(series, start=1)]
    places = sorted(set(labels).union(*columns))
    rows = [[labels.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
    return markdown_table([["", *names], *rows])


def _points(series: etree._Element, name: str) -> dict[int, str]:
    """Return the named values of a series, by position; for categories of several levels, all levels."""
    found: dict[int, str] = {}
    for point in series.iterfind(f"{{*}}{name}//{{*}}pt"):
        value = _shown(point)
        place = number(point.get("idx")) or 0
        found[place] = f"{value} {found[place]}" if place in found else value
    return found


def _shown(point: etree._Element) -> str:
    """Return the value of a point; a number as its format shows it, since it may be a date or a share."""
    value = " ".join((point.findtext("{*}v") or "").split())
    around = point.getparent()
    code = point.get("formatCode") or (around.findtext("{*}formatCode") if around is not None else None)
    if not code:
        return value
    code = code if _FORMAT.fullmatch(_LITERAL.sub("", code)) else "General"
    since = point.getroottree().find("{*}date1904")
    write = number_format(code, 0, since_1904=since is not None and since.get("val") not in ("0", "false"))
    try:
        return (write or general)(float(value))
    except (ValueError, OverflowError):  # no number, such as #N/A
        return value


def _words(element: etree._Element) -> str:
    paragraphs = element.iter(f"{_TEXT}p")
    return " ".join(" ".join("".join(run.text or "" for run in one.iter(f"{_TEXT}t")) for one in paragraphs).split())
