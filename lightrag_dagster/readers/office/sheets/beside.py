"""Parts beside the cells of a worksheet: comments, text boxes, names in charts, and images."""

import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from lxml import etree

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import alternative_text, as_hidden, no_heading
from lightrag_dagster.readers.office.archive import RelatedPart, parse_part
from lightrag_dagster.readers.office.charts import chart_names
from lightrag_dagster.readers.office.sheets.cells import Sheet, area_of, one_line
from lightrag_dagster.readers.office.sheets.workbook import comments_of, named, related, text_of

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def put_comments(archive: zipfile.ZipFile, beside: Collection[RelatedPart], sheet: Sheet) -> None:
    """Write each comment of a worksheet into its cell, behind the value."""
    for place, text in comments(archive, beside):
        area = area_of(place)
        if area is not None and text:
            row = sheet.rows.setdefault(area.row, {})
            row[area.column] = f"{row.get(area.column, '')} (comment: {text})".strip()


def comments(archive: zipfile.ZipFile, beside: Collection[RelatedPart]) -> Iterator[tuple[str, str]]:
    """Yield the cell and the text of each comment, with the answers to it, each of which is a comment too."""
    has_threads = any(one.kind == "threadedComment" for one in beside)
    for one in beside:
        if one.kind == "comments":
            for comment in comments_of(parse_part(archive, one.part), copies=not has_threads):
                text = comment.find("{*}text")
                yield comment.get("ref", ""), one_line(text_of(text)) if text is not None else ""
        elif one.kind == "threadedComment":
            for comment in parse_part(archive, one.part).iterfind("{*}threadedComment"):
                yield comment.get("ref", ""), one_line(comment.findtext("{*}text") or "")


def drawn(archive: zipfile.ZipFile, beside: Iterable[RelatedPart], figures: Figures | None) -> Iterator[str]:
    """Yield the texts of boxes and the names in charts on a worksheet, and a placeholder for each image kept."""
    for one in beside:
        if one.kind == "drawing":
            with suppress(etree.XMLSyntaxError):  # the values do not need it
                yield from _drawn(archive, one.part, figures)


def _drawn(archive: zipfile.ZipFile, part: str, figures: Figures | None) -> Iterator[str]:
    parts = related(archive, part)
    for element in parse_part(archive, part).iter("{*}sp", "{*}pic", "{*}chart"):
        text = _text(archive, element, parts, figures)
        around = (one.find("*/{*}cNvPr") for one in (element, *element.iterancestors()))
        yield as_hidden(text) if any(one is not None and one.get("hidden") in ("1", "true") for one in around) else text


def _text(
    archive: zipfile.ZipFile, element: etree._Element, parts: dict[str, RelatedPart], figures: Figures | None
) -> str:
    kind = etree.QName(element).localname
    if kind == "sp":
        return "\n".join(_paragraphs(element))
    if kind == "chart":
        chart = parts.get(named(element, "id"))
        return no_heading(chart_names(parse_part(archive, chart.part))) if chart else ""
    about, shown = element.find(".//{*}cNvPr"), element.find(".//{*}blip")
    image = parts.get(named(shown, "embed")) if shown is not None else None
    name = figures.name_of(archive.read(image.part)) if figures is not None and image else None
    return mark_of(alternative_text(about.get("descr", "")) if about is not None else "", name) if name else ""


def _paragraphs(element: etree._Element) -> Iterator[str]:
    for paragraph in element.iter(f"{_DRAWING}p"):
        text = " ".join("".join(run.text or "" for run in paragraph.iter(f"{_DRAWING}t")).split())
        if text:
            yield no_heading(text)
