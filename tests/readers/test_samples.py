"""The sample files, which other programs wrote: see tools/samples/make.py."""

import datetime
from functools import cache
from pathlib import Path

import pytest

from lightrag_dagster.core.text.markdown import heading_paths
from lightrag_dagster.readers.content import Properties, UnreadableError
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import format_of

SAMPLES = Path(__file__).parent / "samples"
WRITTEN = datetime.date(2025, 3, 4)
TABLE = "| Station | Level (m) |\n| --- | --- |\n| Steinhag | 1.42 |\n| Corley | 0.97 |"


@cache
def read(name: str) -> ExtractedText:
    return extract_text((SAMPLES / name).read_bytes(), name)


def headings(name: str) -> list[str]:
    return [path for _, path in heading_paths(read(name).text)]


WRITERS = {
    ".pdf": (
        *("fpdf2", "groff", "libreoffice", "libreoffice-table", "reportlab", "reportlab-tables", "owner-password"),
        *("figures", "scan"),
    ),
    ".docx": ("libreoffice", "pandoc", "python-docx", "merged-cells", "figures", "empty"),
    ".pptx": (
        *("figures", "libreoffice", "pandoc", "pptxgenjs", "pptxgenjs-figures", "python-pptx", "grouped", "empty"),
    ),
    ".xlsx": ("figures", "libreoffice", "libreoffice-sheets", "openpyxl", "xlsxwriter", "empty"),
    ".odt": ("figures", "libreoffice", "libreoffice-table", "pandoc", "odfdo", "odfpy", "empty"),
    ".rtf": ("figures", "libreoffice", "libreoffice-figures", "pandoc", "rtf-writer", "hand", "mac", "empty"),
    ".epub": ("figures", "hand", "libreoffice", "pandoc-2", "pandoc-3", "pandoc-toc"),
    ".png": ("columns", "scan"),
    ".jpg": ("scan",),
    ".webp": ("scan",),
    ".tiff": ("two-pages",),
    ".html": (
        *(
            "asciidoctor",
            "cms-shift-jis",
            "docutils-1252",
            "docutils-utf-16",
            "empty",
            "figures",
            "libreoffice",
            "mkdocs",
        ),
        *("pandoc", "sheetjs", "sphinx"),
    ),
    ".htm": ("docutils", "groff", "pandoc", "pod2html", "tidy-1252", "txt2html"),
    ".eml": (
        *(
            "plain",
            "both",
            "markup",
            "forwarded",
            "latin",
            "japanese",
            "empty",
            "git",
            "mime-lite",
            "mutt",
            "nodemailer",
        ),
        *("nodemailer-html", "nodemailer-page", "nodemailer-reply", "signed", "swaks"),
    ),
}
ALL = [f"{name}{suffix}" for suffix, names in WRITERS.items() for name in names]
IMAGES = [name for name in ALL if name.startswith(("scan", "columns", "two-pages"))]
"""Their text is to be recognised: see test_recognition.py."""


def test_every_sample_is_tested() -> None:
    assert sorted(ALL) == sorted(path.name for path in SAMPLES.glob("*.*") if path.suffix in WRITERS)


@pytest.mark.parametrize(
    "name", [name for name in ALL if not name.startswith(("empty", "mac", "merged")) and name not in IMAGES]
)
def test_the_text_is_there(name: str) -> None:
    text = read(name).text
    facts = ("Steinhag", "1.42") if name.endswith(".xlsx") else ("Kingfisher",)
    for fact in facts if name != "libreoffice.xlsx" else ("Steinhag;1.42",):
        assert fact in text


@pytest.mark.parametrize(
    "name", [name for name in ALL if name.startswith("empty") and not name.endswith((".eml", ".html"))]
)
def test_a_file_without_text_is_empty_and_no_failure(name: str) -> None:
    assert (read(name).text, read(name).title) == ("", name)


STORY = [name for name in ALL if name.startswith(("pandoc", "libreoffice", "python-docx", "odfdo", "hand"))]
STORY = [
    name
    for name in STORY
    if name.endswith((".docx", ".odt", ".rtf", ".epub"))
    and name not in ("hand.epub", "libreoffice.epub", "libreoffice-figures.rtf")
]


@pytest.mark.parametrize("name", STORY)
def test_headings_are_markdown_headings(name: str) -> None:
    found = [path.removeprefix("Gauge survey > ") for path in headings(name)]
    if name == "odfdo.odt":  # its headings are numbered
        found = [path.replace("1.1. ", "").replace("1. ", "") for path in found]
    assert "Station visits" in found
    assert name == "hand.rtf" or "Station visits > Überlauf und 水位" in found


@pytest.mark.parametrize("name", [name for name in STORY if name.startswith(("pandoc", "libreoffice."))])
def test_tables_lists_and_every_script_are_kept(name: str) -> None:
    text = read(name).text.replace("**", "").replace("|---|---|", "| --- | --- |")
    assert TABLE in text
    for line in ("Replace the seal", "1. First, read the staff gauge.", "水位は夜の間に下がった。 Уровень упал."):
        assert line in text
    assert "Der Pegel fiel um 12 cm über Nacht." in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pandoc.docx", Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"), "en")),
        ("python-docx.docx", Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"), "en")),
        ("python-pptx.pptx", Properties("Gauge deck", "Ida Wren", WRITTEN)),
        ("openpyxl.xlsx", Properties("Gauge levels", "Ida Wren", WRITTEN)),
        ("xlsxwriter.xlsx", Properties("Gauge levels", "Ida Wren", WRITTEN, ("gauges", "rivers"))),
        ("pandoc.odt", Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"), "en")),
        ("hand.rtf", Properties("Gauge survey", "Ida Wren", WRITTEN)),
        ("libreoffice.rtf", Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"))),
        ("pandoc-3.epub", Properties("Gauge survey", "Ida Wren", WRITTEN, (), "en")),
        ("fpdf2.pdf", Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"))),
        ("plain.eml", Properties("Überlauf at Lerchbruck 水位", "Ida Wren", WRITTEN)),
        ("japanese.eml", Properties("水位", "ida@example.org")),
        # What the program wrote itself is no property.
        ("empty.docx", Properties(date=WRITTEN)),
    ],
)
def test_what_documents_say_of_themselves(name: str, expected: Properties) -> None:
    assert read(name).properties == expected
    assert read(name).title == (expected.title or name)


@pytest.mark.parametrize(
    ("name", "pages", "found"),
    [
        ("fpdf2.pdf", ("# Station visits", "## Overflow"), ["Station visits", "Station visits > Overflow"]),
        ("reportlab.pdf", ("# Station visits", "## Overflow"), ["Station visits", "Station visits > Overflow"]),
        ("groff.pdf", ("# Gauge survey", "-2-"), ["Gauge survey"]),
        (
            "libreoffice.pdf",
            ("# Gauge survey",),
            ["Gauge survey", "Gauge survey > Station visits", "Gauge survey > Station visits > Überlauf und 水位"],
        ),
        ("python-pptx.pptx", ("## Opening", "## Levels"), ["Opening", "Levels"]),
        ("pandoc.pptx", ("## Gauge deck", "## Opening", "## Levels"), ["Gauge deck", "Opening", "Levels"]),
        ("libreoffice.pptx", ("## Gauge deck", "## Opening", "## Levels"), ["Gauge deck", "Opening", "Levels"]),
        ("grouped.pptx", ("## Slide 1", ""), ["Slide 1"]),
        ("xlsxwriter.xlsx", ("## Spring readings", "## 水位"), ["Spring readings", "水位"]),
        ("openpyxl.xlsx", ("## Spring readings", "## 水位", ""), ["Spring readings", "水位"]),
    ],
)
def test_pages_slides_and_sheets_begin_where_they_say(name: str, pages: tuple[str, ...], found: list[str]) -> None:
    extracted = read(name)
    begin = [extracted.text[start:].lstrip("\n").split("\n")[0] for start in extracted.pages]
    assert tuple(begin) == pages
    assert headings(name) == found


@pytest.mark.parametrize("name", ["fpdf2.pdf", "reportlab.pdf"])
def test_ruled_tables_of_a_pdf_are_tables(name: str) -> None:
    before, _, after = read(name).text.partition(f"Lerchbruck was cleaned in spring.\n\n{TABLE}\n\n")
    assert before.startswith("# Station visits\n\nThe Kingfisher gauge")
    assert after == "## Overflow\n\nThe level fell by 12 cm over night."


def test_spanning_cells_wrapped_cells_and_the_text_around_tables() -> None:
    assert read("reportlab-tables.pdf").text == (
        "Before.\n\n| Kingfisher levels |  | Note |\n| --- | --- | --- |\n"
        "| Steinhag | 1.42 | A long note that goes over several lines of its cell |\n| Corley |  | Überlauf |\n\n"
        "Between.\n\n| a | b |\n| --- | --- |\n| c | d |\n\nAfter."
    )
    assert "- Replace the seal\n\n| Station | Level (m) |\n| --- | --- |\n" in read("libreoffice-table.pdf").text
    assert "| Corley \\| weir | 0.97 |" in read("libreoffice-table.pdf").text


def test_paragraphs_of_a_pdf_are_apart_and_their_lines_are_not() -> None:
    text = read("libreoffice.pdf").text
    assert "Уровень упал.\n\n1. First, read the staff gauge.\n2. Then call the office.\n\n1" in text
    assert "Its housing was cracked.\n- Replace the seal\n- Check the logger\n" in text
    assert read("fpdf2.pdf").text.count("\n\n") == 4


def test_chapters_of_a_book_come_in_its_order() -> None:
    book = read("hand.epub")
    assert book.text == "# Überlauf\n\nDer Kingfisher-Pegel & mehr  \nfiel.\n\n# 水位\n\nZweites Kapitel."
    assert book.properties == Properties("Gauge survey", "Ida Wren", WRITTEN, ("gauges", "rivers"), "de")


def test_a_deck_keeps_points_tables_and_notes() -> None:
    assert read("python-pptx.pptx").text == (
        "## Opening\n\n- Kingfisher gauge\n- Lerchbruck 水位\n\n"
        "## Levels\n\n| Station | Level |\n| --- | --- |\n| Steinhag | 1.42 |\n\nNotes: Mention the seal."
    )


def test_a_workbook_keeps_values_as_they_are_shown() -> None:
    assert read("xlsxwriter.xlsx").text == (
        "## Spring readings\n\n| Station | Level (m) |  |\n| --- | --- | --- |\n"
        "| Steinhag | 1.42 | 2025-03-04 05:06 |\n"
        "| Corley \\| weir | 0.97 |\n|  | 2.39 |\n|  | TRUE |\n\n## 水位\n\n| Pegel | höher |\n| --- | --- |"
    )


def test_cells_that_span_columns_keep_the_others_in_place() -> None:
    assert read("merged-cells.docx").text == "| Kingfisher | Kingfisher |  |\n| --- | --- | --- |\n|  |  | two lines |"


def test_every_code_page_of_rich_text() -> None:
    assert read("hand.rtf").text == (
        "# Station visits\n\nThe Kingfisher gauge at Lerchbruck was cleaned… in spring. Überlauf, 12 cm.\n\n"
        "Уровень\n\n水位\n\n| Station | Level |\n| --- | --- |\n| Steinhag | 1.42 |\n\nend"
    )
    assert read("mac.rtf").text == "The Kingfisher ä Lerchbruck"


HEADER = "From: Ida Wren <ida@example.org>\nTo: Office <office@example.org>, Per <per@example.org>\n"
HEADER += "Date: Tue, 04 Mar 2025 05:06:07 +0000"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "both.eml",
            f"# Re: Gauge survey\n\n{HEADER}\n\nThe Kingfisher gauge fell.\n\nAttachments: survey Überlauf.pdf",
        ),
        (
            "forwarded.eml",
            f"# Fwd: Gauge survey\n\n{HEADER}\n\nSee below.\n\n## Überlauf at Lerchbruck 水位\n\n{HEADER}\n\n"
            "The Kingfisher gauge fell by 12 cm.\nÜber Nacht.",
        ),
        (
            "latin.eml",
            "# Überlauf\n\nFrom: ida@example.org\nDate: Tue, 04 Mar 2025 05:06:07 +0000\n\n"
            "Der Kingfisher-Pegel bei Lerchbruck fiel über Nacht.",
        ),
        ("japanese.eml", "# 水位\n\nFrom: ida@example.org\n\n水位が下がった。Kingfisher"),
        ("empty.eml", "# Nothing to say"),
    ],
)
def test_a_mail_says_who_wrote_to_whom_and_what_is_attached(name: str, text: str) -> None:
    assert read(name).text == text


def test_the_html_of_a_mail_is_read_as_pages_are() -> None:
    text = read("markup.eml").text
    assert text.startswith(f"# Levels\n\n{HEADER}\n\n## Levels\n\nThe Kingfisher gauge at Lerchbruck.")
    assert "| Steinhag | 1.42 |" in text


DAMAGED = sorted(path.name for path in (SAMPLES / "damaged").iterdir())
REASONS = {
    "encrypted": r"^protected by",
    "truncated": r"^(damaged or )?cut short|^damaged",
    "zero-bytes": r"^the file is empty: it has 0 bytes$",
    "really-text": r"^not what its suffix says: .*; give the file its own suffix$",
}


DRAWN = ("corrupt-image.pdf", "truncated.jpg", "truncated.png", "truncated.tiff", "truncated.webp", "without-text.pdf")
"""Files whose damage shows when their images are unpacked."""
KEPT = ("truncated.eml", "truncated.html", "zero-bytes.html")
"""Files of which the rest is read: see test_text_samples.py."""


@pytest.mark.parametrize("name", [name for name in DAMAGED if name not in (*DRAWN, *KEPT)])
def test_a_damaged_file_says_what_to_do(name: str) -> None:
    with pytest.raises(UnreadableError, match=REASONS[name.rpartition(".")[0]]):
        read(f"damaged/{name}")


@pytest.mark.long
def test_a_scan_has_no_text_and_says_why() -> None:
    scan = read("damaged/without-text.pdf")
    assert (scan.text, scan.pages) == ("", (0,))
    assert scan.why_empty == "no text: it is in images, such as scanned pages; documents.recognise_text reads it"
    assert read("hostile/many-pages.pdf").why_empty is None


def test_only_the_pages_that_are_images_are_without_text() -> None:
    assert read("scan.pdf").text == (
        "- 1 -\n\nThe second page was written by a program, and needs no recognition: Corley 0.97."
    )


@pytest.mark.parametrize("name", ["entities.docx", "outside.docx", "deep.odt", "inflates.docx", "outside.epub"])
def test_archives_neither_inflate_nor_read_what_lies_outside(name: str) -> None:
    try:
        text = read(f"hostile/{name}").text
    except UnreadableError as error:
        text = str(error)
    assert "root:" not in text
    assert len(text) < 1000


@pytest.mark.parametrize("name", ["deep.rtf", "many-pages.pdf"])
def test_depth_and_number_alone_do_no_harm(name: str) -> None:
    assert read(f"hostile/{name}").text == ("A" if name == "deep.rtf" else "")


def test_all_of_these_are_isolated() -> None:
    for suffix in WRITERS:
        found = format_of(f"a{suffix}")
        assert found is not None
        assert found.isolated
