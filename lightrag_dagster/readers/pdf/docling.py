"""PDF by Docling, which finds layout and tables with models: the extra `docling`, with documents.pdf_reader.

Docling's export is read as JSON, so that its types are not needed here.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.office.archive import DAMAGED
from lightrag_dagster.readers.plain.tables import markdown_table

_LEVELS = 6
_LEFT_OUT = ("page_header", "page_footer")

Node = Mapping[str, Any]


def read(data: bytes, *, recognise_text: bool = False) -> Content:
    """Read a PDF; with `recognise_text`, Docling recognises the text in its images.

    Raises:
        UnreadableError: the extra or its models are missing, or the file cannot be read.
    """
    if not find_spec("docling"):
        raise UnreadableError("documents.pdf_reader = docling needs pip install 'lightrag-dagster[docling]'")
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded while documents are read
    from docling.datamodel.base_models import DocumentStream

    stream = DocumentStream(name="document.pdf", stream=io.BytesIO(data))
    found = _converter(recognise_text).convert(stream, raises_on_error=False)
    if found.status.value not in ("success", "partial_success"):
        reasons = "; ".join(error.error_message for error in found.errors)
        raise UnreadableError(f"Docling: {reasons[:300]}" if reasons else DAMAGED)
    return content_of(found.document.export_to_dict())


@cache
def _converter(recognise_text: bool) -> Any:
    """Load the models, from the folder that DOCLING_ARTIFACTS_PATH names, else from Hugging Face's cache."""
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    options = PdfPipelineOptions(do_ocr=recognise_text, artifacts_path=os.environ.get("DOCLING_ARTIFACTS_PATH") or None)
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)}
    )


def content_of(document: Node) -> Content:
    """Return the pages of a document as Docling exports it (`export_to_dict`), as Markdown.

    Headings, lists, tables, code and captions keep their form; page headers and footers are left out.
    """
    pages: dict[int, list[_Block]] = {int(number): [] for number in document.get("pages", {})}
    page = min(pages, default=1)
    for block in _blocks(document, document["body"], 0):
        page = block.page or page
        pages.setdefault(page, []).append(block)
    return Content([_text(blocks) for _, blocks in sorted(pages.items())])


class _Block(NamedTuple):
    """A paragraph or the like, the number of its page if known, and a flag for items of a list."""

    text: str
    page: int | None
    is_item: bool = False


def _text(blocks: Sequence[_Block]) -> str:
    parts: list[str] = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        if before is not None:
            parts.append("\n" if before.is_item and block.is_item else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def _blocks(document: Node, node: Node, depth: int) -> Iterator[_Block]:
    """Yield the blocks of a node's children; lists in a list are `depth` deep."""
    owners = [*document.get("tables", []), *document.get("pictures", [])]
    captions = {caption["$ref"] for owner in owners for caption in owner.get("captions", [])}
    for reference in node.get("children", []):
        child = _at(document, reference["$ref"])
        label = child.get("label", "")
        if reference["$ref"] in captions or label in _LEFT_OUT or child.get("content_layer") == "furniture":
            continue
        page = next((place["page_no"] for place in child.get("prov", [])), None)
        is_list = label in ("list", "ordered_list")
        yield from (_Block(text, page, label == "list_item") for text in _own(document, child, depth) if text)
        yield from _blocks(document, child, depth + is_list)


def _own(document: Node, node: Node, depth: int) -> Iterator[str]:
    """Yield the node's own blocks."""
    label, text = node.get("label", ""), str(node.get("text") or "").strip()
    caption = " ".join(_at(document, one["$ref"])["text"] for one in node.get("captions", []))
    if label == "title":
        yield f"# {' '.join(text.split())}"
    elif label == "section_header":
        yield f"{'#' * min(_LEVELS, 1 + int(node.get('level') or 1))} {' '.join(text.split())}"
    elif label == "list_item":
        marker = node.get("marker") if node.get("enumerated") else "-"
        yield f"{'  ' * max(0, depth - 1)}{marker or '-'} {' '.join(text.split())}"
    elif label == "code":
        yield f"```\n{text}\n```"
    elif label in ("table", "document_index"):
        yield caption
        yield markdown_table(list(_cells(row)) for row in node["data"]["grid"])
    elif label in ("picture", "chart"):
        yield f"![{caption.translate({91: 40, 93: 41})}]()" if caption else ""
    else:
        yield text


def _cells(row: Sequence[Node]) -> Iterator[str]:
    """Yield the texts of a row; a cell that spans several columns is in the first of them."""
    for column, cell in enumerate(row):
        yield str(cell["text"]) if column == cell["start_col_offset_idx"] else ""


def _at(document: Node, reference: str) -> Node:
    """Return the node of a reference such as `#/texts/3`."""
    _, kind, number = reference.split("/")
    found: Node = document[kind][int(number)]
    return found
