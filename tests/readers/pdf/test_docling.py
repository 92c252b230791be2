"""Docling's documents; the recorded one is by docling-core: see tools/samples/docling_document.py."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.readers.content import Limits, ReadingOptions, UnreadableError
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.isolation import extract_isolated
from lightrag_dagster.readers.pdf import docling as docling_pdf
from lightrag_dagster.readers.pdf.docling import content_of

SAMPLES = Path(__file__).parents[1] / "samples"
RECORDED: dict[str, Any] = json.loads((SAMPLES / "recorded/docling.json").read_text(encoding="utf-8"))
PAGES = [
    "# Gauge survey\n\n## Station visits\n\nThe Kingfisher gauge at Lerchbruck was cleaned in spring.\n\n"
    "- Replace the seal\n  - the inner one\n- Check the logger\n1. Read the staff gauge.\n2. Call the office.",
    "Table 1: levels in March\n\n| Station | Level |  |\n| --- | --- | --- |\n| Steinhag | 1.42 | m \\| NN |",
    "",
    "### Überlauf und 水位\n\n![Figure 1: the weir]()\n\n```\nlevel = 1.42\n```\n\nh = 2 r\n\nRead at noon.",
]


def test_a_recorded_document_has_headings_lists_tables_figures_and_pages() -> None:
    assert content_of(RECORDED).text == PAGES


def test_what_has_no_place_is_on_the_page_before() -> None:
    texts = [text | {"prov": []} if text["label"] == "title" else text for text in RECORDED["texts"]]
    assert content_of(RECORDED | {"texts": texts}).text == PAGES
    assert content_of({"body": {"children": []}, "pages": {}}).text == []


def test_its_reader_takes_the_place_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(data: bytes, *, recognise_text: bool) -> Any:
        asked.append(recognise_text)
        return content_of(RECORDED)

    monkeypatch.setattr(docling_pdf, "read", read)
    found = extract_text(b"%PDF", "a.pdf", ReadingOptions(pdf_reader="docling"))
    assert (found.title, found.media_type, len(found.pages)) == ("Gauge survey", "application/pdf", 4)
    assert found.text.startswith("# Gauge survey")
    extract_text(b"%PDF", "a.pdf", ReadingOptions(recognise_text=True, pdf_reader="docling"))
    assert asked == [False, True]
    assert extract_text(b"plain", "a.txt", ReadingOptions(pdf_reader="docling")).text == "plain"


# `dev` does not have the extra, which is gigabytes.
@pytest.mark.long
@pytest.mark.skipif(find_spec("docling") is not None, reason="the extra `docling` is installed")
def test_without_the_extra_the_reason_names_it() -> None:
    data = (SAMPLES / "fpdf2.pdf").read_bytes()
    with pytest.raises(
        UnreadableError, match=r"^documents\.pdf_reader = docling needs pip install 'lightrag-dagster\["
    ):
        extract_isolated(data, "a.pdf", ReadingOptions(pdf_reader="docling"), Limits(60, 2048))
