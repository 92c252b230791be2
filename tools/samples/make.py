"""Write the sample files of the tests by other programs than the ones that read them here.

The files are committed, so nobody needs this to run the tests. To write them again:

    apt-get install libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui pandoc groff
    pip install pillow fpdf2 reportlab python-docx python-pptx openpyxl xlsxwriter odfdo msoffcrypto-tool pypdf
    python tools/samples/make.py

Every structured file says what `STORY` says: two headings, a list, a table, text in three scripts. `scan.*`,
`columns.png` and `two-pages.tiff` are images of what `SCANNED` says. `damaged` and `hostile` files are made from the
good ones.

After this one, `make_pages.py` writes pages and mails, `make_texts.py` tables, data and markup, `make_code.py` program
code and settings, `make_compiled.py` more of both, `make_documents.py` more pages, decks and documents.
"""

import io
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from make_broken import write_damaged, write_hostile
from make_by_libraries import write_docx, write_eml, write_epub, write_odt, write_pptx, write_rtf, write_xlsx
from programs import HERE, WRITTEN, office, pandoc, run

STORY = """---
title: Gauge survey
author: Ida Wren
date: 2025-03-04
lang: en-GB
keywords: [gauges, rivers]
---

# Station visits

The *Kingfisher* gauge at **Lerchbruck** was cleaned in spring. Its housing was cracked.

- Replace the seal
- Check the logger

| Station | Level (m) |
|---------|-----------|
| Steinhag | 1.42 |
| Corley | 0.97 |

## Überlauf und 水位

Der Pegel fiel um 12 cm über Nacht. 水位は夜の間に下がった。 Уровень упал.

1. First, read the staff gauge.
2. Then call the office.
"""
DECK = """---
title: Gauge deck
author: Ida Wren
---

# Opening

- Kingfisher gauge
- Lerchbruck

# Levels

| Station | Level |
|---------|-------|
| Steinhag | 1.42 |

::: notes
Mention the seal.
:::
"""


def write_pandoc(folder: Path) -> None:
    for suffix in ("docx", "odt", "rtf"):
        pandoc(STORY, folder / f"pandoc.{suffix}")
    pandoc(STORY, folder / "pandoc-2.epub", "-t", "epub2")
    pandoc(STORY, folder / "pandoc-3.epub", "-t", "epub3")
    pandoc(STORY, folder / "pandoc-toc.epub", "-t", "epub3", "--toc", "--epub-chapter-level=2")
    pandoc(DECK, folder / "pandoc.pptx")


def write_office(folder: Path) -> None:
    office(folder / "pandoc.odt", folder / "libreoffice.docx")
    office(folder / "pandoc.docx", folder / "libreoffice.odt")
    for suffix in ("rtf", "epub", "pdf"):
        office(folder / "pandoc.odt", folder / f"libreoffice.{suffix}")
    office(folder / "pandoc.pptx", folder / "libreoffice.pptx")
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "libreoffice.csv"
        table.write_text("Station;Level\nSteinhag;1.42\nCorley;0.97\n", encoding="utf-8")
        office(table, folder / "libreoffice.xlsx")
        office(folder / "xlsxwriter.xlsx", folder / "libreoffice-sheets.xlsx")


def write_pdf(folder: Path) -> None:
    from fpdf import FPDF
    from reportlab.lib import pdfencrypt
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.pdfgen import canvas
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    pdf = FPDF()
    pdf.set_creation_date(WRITTEN)
    pdf.set_title("Gauge survey")
    pdf.set_author("Ida Wren")
    pdf.set_keywords("gauges, rivers")
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 22)
    pdf.cell(text="Station visits", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, text="The Kingfisher gauge at Lerchbruck was cleaned in spring. " * 6)
    pdf.ln()
    with pdf.table() as table:
        for row in (("Station", "Level (m)"), ("Steinhag", "1.42"), ("Corley", "0.97")):
            table.row(row)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 16)
    pdf.cell(text="Overflow", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, text="The level fell by 12 cm over night.")
    pdf.output(str(folder / "fpdf2.pdf"))

    styles = getSampleStyleSheet()
    span = [("GRID", (0, 0), (-1, -1), 0.5, "black"), ("SPAN", (0, 0), (1, 0))]
    cell = Paragraph("A long note that goes over several lines of its cell", styles["Normal"])
    rows = [["Kingfisher levels", "", "Note"], ["Steinhag", "1.42", cell], ["Corley", "", "Überlauf"]]
    parts = [Paragraph("Before.", styles["Normal"]), Table(rows, colWidths=[80, 60, 120], style=span)]
    parts += [Paragraph("Between.", styles["Normal"])]
    parts += [Table([["a", "b"], ["c", "d"]], style=[("GRID", (0, 0), (-1, -1), 1, "black")])]
    parts += [Paragraph("After.", styles["Normal"])]
    SimpleDocTemplate(str(folder / "reportlab-tables.pdf"), pagesize=A4, invariant=1).build(parts)
    table = Table(
        [["Station", "Level (m)"], ["Steinhag", "1.42"], ["Corley", "0.97"]],
        style=[("GRID", (0, 0), (-1, -1), 1, "black")],
    )
    story = [Paragraph("Station visits", styles["Heading1"])]
    story += [Paragraph("The Kingfisher gauge at Lerchbruck was cleaned in spring. " * 12, styles["Normal"]), table]
    story += [
        PageBreak(),
        Paragraph("Overflow", styles["Heading2"]),
        Paragraph("The level fell by 12 cm over night.", styles["Normal"]),
    ]
    SimpleDocTemplate(
        str(folder / "reportlab.pdf"), pagesize=A4, title="Gauge survey", author="Ida Wren", invariant=1
    ).build(story)

    for name, password in (("encrypted", "secret"), ("owner-password", "")):
        locked = canvas.Canvas(
            str(folder / f"{name}.pdf"),
            invariant=1,
            encrypt=pdfencrypt.StandardEncryption(password, "owner", strength=128),
        )
        locked.drawString(100, 700, "The Kingfisher gauge at Lerchbruck")
        locked.save()
    blank = canvas.Canvas(str(folder / "without-text.pdf"), invariant=1)
    blank.rect(100, 100, 300, 300, fill=1)
    blank.save()
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "page.ms"
        page.write_text(
            ".TL\nGauge survey\n.NH\nStation visits\n.PP\nThe Kingfisher gauge at Lerchbruck was cleaned in spring.\n"
            ".bp\n.NH\nOverflow\n.PP\nThe level fell by 12 cm over night.\n"
        )
        with (folder / "groff.pdf").open("wb") as file:
            subprocess.run(["groff", "-ms", "-Tpdf", str(page)], check=True, stdout=file)


SCANNED = [
    "The Kingfisher gauge at Lerchbruck was cleaned in spring. Its housing was cracked, so that rain reached the "
    "logger, and the readings of two nights were lost before anybody noticed it.",
    "Der Pegel fiel um 12 cm über Nacht. Die Straße nach Größenbach war für Fußgänger gesperrt; man fuhr über "
    "Öhringen.",
    "The council asked the office to repeat the survey in autumn, when the river is low and the old staff gauge below "
    "the bridge can be read from the bank. Until then the values of the upper station are taken.",
]


def page_image(source: Path, size: tuple[int, int] = (1240, 1754)) -> Any:
    """Return the first page of a document as LibreOffice draws it, turned a little as by a scanner."""
    from PIL import Image

    kind = "draw" if source.suffix == ".pdf" else "writer"
    width, height = (f'{{"type":"long","value":"{pixels}"}}' for pixels in size)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.png"
        office(source, page, f'{kind}_png_Export:{{"PixelWidth":{width},"PixelHeight":{height}}}')
        with Image.open(page) as image:
            grey = image.convert("L").rotate(0.4, resample=Image.Resampling.BICUBIC, fillcolor=255)
    return grey.quantize(8)


def write_scans(folder: Path) -> None:
    """Write images of pages: of one with a list and a table, and of one with two columns."""
    from PIL import Image
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "page.odt"
        story = "\n\n".join(["# Station visits", *SCANNED, "| Station | Level |\n|---|---|\n| Steinhag | 1.42 |"])
        pandoc(story, source)
        page = page_image(source)
        columns = Path(name) / "columns.ms"
        paragraphs = "".join(f".LP\n{text}\n" for text in SCANNED * 2)
        columns.write_text(f".nr PS 15\n.nr VS 18\n.TL\nRiver survey\n.2C\n{paragraphs}", encoding="utf-8")
        with columns.with_suffix(".pdf").open("wb") as file:
            subprocess.run(["groff", "-k", "-ms", "-Tpdf", str(columns)], check=True, stdout=file)
        two_columns = page_image(columns.with_suffix(".pdf"))
    page.save(folder / "scan.png", optimize=True)
    page.convert("L").resize((620, 877), Image.Resampling.LANCZOS).save(folder / "scan.jpg", quality=60)
    page.convert("RGB").crop((0, 150, 1240, 500)).save(folder / "scan.webp", quality=40)
    two_columns.save(folder / "columns.png", optimize=True)
    black = [one.convert("L").point(lambda grey: 255 * (grey > 128)).convert("1") for one in (page, two_columns)]
    black[0].crop((0, 150, 1240, 500)).save(
        folder / "two-pages.tiff", compression="group4", save_all=True, append_images=[black[1].crop((0, 0, 1240, 400))]
    )
    scan = canvas.Canvas(str(folder / "scan.pdf"), invariant=1)
    grey = io.BytesIO()
    page.convert("L").save(grey, "JPEG", quality=40)
    scan.drawImage(ImageReader(grey), 0, 0, *A4)
    scan.drawString(280, 20, "- 1 -")
    scan.showPage()
    scan.drawString(100, 700, "The second page was written by a program, and needs no recognition: Corley 0.97.")
    scan.showPage()
    scan.showPage()
    scan.save()


def write_figures(folder: Path) -> None:
    """Write documents with an image: a bar chart, and one of 16 pixels, which is decoration."""
    from PIL import Image, ImageDraw

    with tempfile.TemporaryDirectory() as name:
        chart = Image.new("RGB", (320, 200), "white")
        draw = ImageDraw.Draw(chart)
        for place, level in enumerate((120, 60, 90)):
            draw.rectangle((40 + 90 * place, 180 - level, 90 + 90 * place, 180), fill="navy")
        chart.save(Path(name) / "chart.png")
        Image.new("RGB", (16, 16), "red").save(Path(name) / "dot.png")
        source = Path(name) / "story.md"
        source.write_text(
            "---\ntitle: Gauge levels\n---\n\n# Levels\n\nThe Kingfisher gauge was read.\n\n"
            "![Levels of three [stations]](chart.png)\n\nA dot: ![](dot.png)\n\n# Later\n\nAgain ![](chart.png)\n\n"
            "The end.\n",
            encoding="utf-8",
        )
        for target in ("figures.docx", "figures.pptx", "figures.epub", "figures.html"):
            options = ["--self-contained"] if target.endswith("html") else []
            run("pandoc", "--standalone", f"--resource-path={name}", *options, str(source), "-o", str(folder / target))
        run("pandoc", "--standalone", f"--resource-path={name}", str(source), "-o", str(folder / "figures.odt"))
        office(folder / "figures.odt", folder / "figures.pdf")
        write_workbook_with_figures(folder / "figures.xlsx", Path(name))


def write_workbook_with_figures(file: Path, images: Path) -> None:
    """Write a workbook whose first sheet has the chart and the dot, the second the chart and no values."""
    import xlsxwriter

    with xlsxwriter.Workbook(file) as book:
        book.set_properties({"created": WRITTEN.replace(tzinfo=None)})
        first, second = book.add_worksheet("Levels"), book.add_worksheet("Again")
        first.write_row(0, 0, ["Station", "Level"])
        first.write_row(1, 0, ["Steinhag", 1.42])
        first.insert_image("D2", images / "chart.png", {"description": "Levels of three [stations]"})
        first.insert_image("D20", images / "dot.png")
        second.insert_image("A1", images / "chart.png")


def main() -> None:
    for name in ("damaged", "hostile"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    write_pandoc(HERE)
    write_xlsx(HERE)
    write_office(HERE)
    for write in (
        write_pdf,
        write_docx,
        write_pptx,
        write_odt,
        write_epub,
        write_rtf,
        write_eml,
        write_scans,
        write_figures,
        write_damaged,
        write_hostile,
    ):
        write(HERE)


if __name__ == "__main__":
    main()
