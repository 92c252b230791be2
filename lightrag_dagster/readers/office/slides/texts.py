"""The texts in the shapes of a slide: paragraphs, tables and comments."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from lightrag_dagster.readers.inline import raised, struck, write_struck
from lightrag_dagster.readers.office.office_formulas import write_runs
from lightrag_dagster.readers.office.sheets.cells import Area
from lightrag_dagster.readers.office.sheets.tables import joined_table

_NOT_STRUCK = "noStrike"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def prepare(tree: etree._Element) -> None:
    """Replace what python-pptx passes over: formulas, and choices between newer and older elements.

    The newer elements of a choice stay, unless the older ones alone have text.
    """
    for choice in list(tree.iter(f"{_COMPATIBILITY}AlternateContent")):
        options = list(choice.iterchildren(f"{_COMPATIBILITY}Choice", f"{_COMPATIBILITY}Fallback"))
        with_text = (one for one in options if any(text.text for text in one.iter("{*}t")))
        for child in next(with_text, options[0]) if options else ():
            choice.addprevious(child)
        choice.getparent().remove(choice)
    write_runs(tree)


def lines(text_body: Any) -> Iterator[tuple[int, str]]:
    """Yield the level and the text of each paragraph that has a text."""
    for paragraph in text_body.paragraphs:
        text = ""
        for run in paragraph._p:
            kind = run.tag.rpartition("}")[2] if isinstance(run.tag, str) else ""
            if kind == "br":
                text += " "
            elif kind in ("r", "fld"):
                look, said = run.find("{*}rPr"), run.findtext("{*}t") or ""
                said = struck(said) if look is not None and look.get("strike", _NOT_STRUCK) != _NOT_STRUCK else said
                text += raised(text, said) if look is not None and _is_raised(look.get("baseline", "0")) else said
        if text := write_struck(" ".join(text.split())):
            yield paragraph.level, text


def text_of(shape: Any, between: str = "\n") -> str:
    """Return the paragraphs of a shape as one text; "" for a shape without a text."""
    return between.join(line for _, line in lines(shape.text_frame)) if shape.has_text_frame else ""


def _is_raised(baseline: str) -> bool:
    return baseline.rstrip("%") not in ("", "0") and not baseline.startswith("-")


def table_text(table: Any) -> str:
    """Return a table, with the values of joined cells where they hold."""
    rows: dict[int, dict[int, str]] = {}
    joined = []
    for number, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            text = " ".join(line for _, line in lines(cell.text_frame))
            if text and not cell.is_spanned:
                rows.setdefault(number, {})[column] = text
            if cell.is_merge_origin:
                joined.append(Area(number, column, number + cell.span_height - 1, column + cell.span_width - 1))
    return joined_table(rows, joined)


def comments(slide: Any) -> Iterator[str]:
    """Yield the comments on a slide, with the answers to them."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for relation in slide.part.rels.values():
        if relation.reltype.endswith("/comments") and not relation.is_external:
            root = etree.fromstring(relation.target_part.blob, parser)
            for comment in root.iter("{*}text", "{*}txBody"):
                paragraphs = ("".join(run.text or "" for run in one.iter("{*}t")) for one in comment.iter("{*}p"))
                if text := " ".join((comment.text or " ".join(paragraphs)).split()):
                    yield text
