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
import os
import shutil
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2] / "tests/readers/samples"
WRITTEN = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)

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
ROWS = [
    ("Station", "Level (m)", "Read"),
    ("Steinhag", 1.42, WRITTEN.replace(tzinfo=None)),
    ("Corley | weir", 0.97, None),
]


def run(*command: str) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(int(WRITTEN.timestamp())), "LC_ALL": "C.UTF-8"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def pandoc(text: str, to: Path, *options: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "story.md"
        source.write_text(text, encoding="utf-8")
        run("pandoc", "--standalone", str(source), "-o", str(to), *options)


def office(source: Path, to: Path, filter_name: str = "") -> None:
    """Convert by LibreOffice."""
    with tempfile.TemporaryDirectory() as folder:
        kind = to.suffix[1:] + (f":{filter_name}" if filter_name else "")
        run("soffice", "--headless", "--convert-to", kind, "--outdir", folder, str(source))
        shutil.move(Path(folder) / source.with_suffix(to.suffix).name, to)


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


def write_docx(folder: Path) -> None:
    import docx

    document = docx.Document()
    core = document.core_properties
    core.title, core.author, core.keywords, core.language = "Gauge survey", "Ida Wren", "gauges; rivers", "en-GB"
    core.created = core.modified = WRITTEN.replace(tzinfo=None)
    document.add_heading("Station visits", 1)
    document.add_paragraph("The Kingfisher gauge at Lerchbruck was cleaned in spring.")
    document.add_paragraph("Replace the seal", style="List Bullet")
    table = document.add_table(rows=3, cols=2)
    for row, texts in enumerate((("Station", "Level (m)"), ("Steinhag", "1.42"), ("Corley | weir", "0.97"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    document.add_heading("Überlauf und 水位", 2)
    document.add_paragraph("Der Pegel fiel um 12 cm über Nacht. 水位は夜の間に下がった。")
    document.save(folder / "python-docx.docx")
    table.style = "Table Grid"
    with tempfile.TemporaryDirectory() as name:
        document.save(Path(name) / "grid.docx")
        office(Path(name) / "grid.docx", folder / "libreoffice-table.pdf")
        office(Path(name) / "grid.docx", folder / "libreoffice-table.odt")
    document = docx.Document()
    document.core_properties.created = document.core_properties.modified = WRITTEN.replace(tzinfo=None)
    merged = document.add_table(rows=2, cols=3)
    merged.cell(0, 0).merge(merged.cell(0, 1)).text = "Kingfisher"
    merged.cell(1, 2).text = "two\nlines"
    document.save(folder / "merged-cells.docx")
    empty = docx.Document()
    empty.core_properties.created = empty.core_properties.modified = WRITTEN.replace(tzinfo=None)
    empty.save(folder / "empty.docx")


def write_pptx(folder: Path) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    deck.core_properties.title, deck.core_properties.author = "Gauge deck", "Ida Wren"
    deck.core_properties.created = deck.core_properties.modified = WRITTEN.replace(tzinfo=None)
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Opening"
    slide.placeholders[1].text = "Kingfisher gauge\nLerchbruck 水位"
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Levels"
    cells = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for row, texts in enumerate((("Station", "Level"), ("Steinhag", "1.42"))):
        for column, text in enumerate(texts):
            cells.cell(row, column).text = text
    slide.notes_slide.notes_text_frame.text = "Mention the seal."
    deck.save(folder / "python-pptx.pptx")
    grouped = Presentation()
    grouped.core_properties.created = grouped.core_properties.modified = WRITTEN.replace(tzinfo=None)
    slide = grouped.slides.add_slide(grouped.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    box = group.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1))
    box.text_frame.text = "Kingfisher in a group"
    grouped.slides.add_slide(grouped.slide_layouts[6])
    grouped.save(folder / "grouped.pptx")
    empty = Presentation()
    empty.core_properties.created = empty.core_properties.modified = WRITTEN.replace(tzinfo=None)
    empty.save(folder / "empty.pptx")


def write_xlsx(folder: Path) -> None:
    import openpyxl
    import xlsxwriter

    book = openpyxl.Workbook()
    book.properties.title, book.properties.creator = "Gauge levels", "Ida Wren"
    book.properties.created = book.properties.modified = WRITTEN.replace(tzinfo=None)
    sheet = book.active
    sheet.title = "Spring readings"
    for row in ROWS:
        sheet.append(row)
    book.create_sheet("水位").append(["Pegel", "höher"])
    hidden = book.create_sheet("Empty")
    hidden.sheet_state = "hidden"
    book.save(folder / "openpyxl.xlsx")
    empty = openpyxl.Workbook()
    empty.properties.created = empty.properties.modified = WRITTEN.replace(tzinfo=None)
    empty.save(folder / "empty.xlsx")

    with xlsxwriter.Workbook(folder / "xlsxwriter.xlsx") as book:
        book.set_properties(
            {"title": "Gauge levels", "author": "Ida Wren", "keywords": "gauges, rivers", "created": WRITTEN}
        )
        sheet = book.add_worksheet("Spring readings")
        date = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        for number, row in enumerate(ROWS):
            sheet.write_row(number + 2, 1, row[:2])
            if isinstance(row[2], datetime):
                sheet.write_datetime(number + 2, 3, row[2], date)
        sheet.write_formula(6, 2, "=SUM(C4:C5)", None, 2.39)
        sheet.write_boolean(7, 2, True)
        book.add_worksheet("水位").write_row(0, 0, ["Pegel", "höher"])


def write_odt(folder: Path) -> None:
    import odfdo

    document = odfdo.Document("text")
    document.body.clear()
    document.meta.title = "Gauge survey"
    document.meta.set_initial_creator("Ida Wren")
    document.meta.set_creation_date(WRITTEN.replace(tzinfo=None))
    document.meta.set_modification_date(WRITTEN.replace(tzinfo=None))
    document.body.append(odfdo.Header(1, "Station visits"))
    document.body.append(odfdo.Paragraph("The Kingfisher gauge at Lerchbruck was cleaned in spring."))
    document.body.append(odfdo.List(["Replace the seal", "Check the logger"]))
    table = odfdo.Table("Levels", width=2, height=0)
    for texts in (("Station", "Level (m)"), ("Steinhag", "1.42"), ("Corley", "0.97")):
        row = odfdo.Row()
        row.set_values(list(texts))
        table.append_row(row)
    document.body.append(table)
    document.body.append(odfdo.Header(2, "Überlauf und 水位"))
    document.body.append(odfdo.Paragraph("Der Pegel fiel um 12 cm über Nacht."))
    document.save(folder / "odfdo.odt")
    empty = odfdo.Document("text")
    empty.body.clear()
    empty.save(folder / "empty.odt")


def write_epub(folder: Path) -> None:
    """Write a book by hand: in another order than its files are named, with spaces in names and another encoding."""
    chapter = '<?xml version="1.0" encoding="{0}"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>'
    chapter += "<body><h1>{1}</h1><p>{2}</p></body></html>"
    parts = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="EPUB/book.opf"/></rootfiles></container>',
        "EPUB/book.opf": '<package xmlns="http://www.idpf.org/2007/opf">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>Gauge survey</dc:title><dc:creator>Ida Wren</dc:creator><dc:language>de-AT</dc:language>"
        "<dc:date>2025-03-04</dc:date><dc:subject>gauges</dc:subject><dc:subject>rivers</dc:subject></metadata>"
        '<manifest><item id="a" href="b%20one.xhtml"/><item id="b" href="text/a.xhtml"/>'
        '<item id="nav" href="nav.xhtml" properties="nav"/></manifest>'
        '<spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="b"/>'
        '<itemref idref="lost"/></spine></package>',
        "EPUB/nav.xhtml": chapter.format("utf-8", "Contents", "not read"),
        "EPUB/b one.xhtml": chapter.format("iso-8859-1", "Überlauf", "Der Kingfisher-Pegel &amp; mehr<br/>fiel."),
        "EPUB/text/a.xhtml": chapter.format("utf-8", "水位", "Zweites Kapitel."),
    }
    with zipfile.ZipFile(folder / "hand.epub", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text.encode("latin-1" if "iso-8859-1" in text else "utf-8"))


RTF = r"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial Cyr;}}
{\info{\title Gauge survey}{\author Ida Wren}{\creatim\yr2025\mo3\dy4\hr5\min6}}
{\*\generator Hand;}\pard\outlinelevel0\b Station visits\b0\par
\pard The Kingfisher gauge at Lerchbruck was cleaned\'85 in spring. \'dcberlauf, 12\~cm.\par
{\f1 \'d3\'f0\'ee\'e2\'e5\'ed\'fc}\par
\uc1\u27700?\u20301?\par
\trowd\cellx1000\cellx2000 Station\cell Level\cell\row
\trowd\cellx1000\cellx2000 Steinhag\cell 1.42\cell\row
\pard end\par}
"""


def write_rtf(folder: Path) -> None:
    (folder / "hand.rtf").write_bytes(RTF.replace("\n", "\r\n").encode("cp1252"))
    (folder / "empty.rtf").write_bytes(rb"{\rtf1\ansi }")
    mac = rb"{\rtf1\mac\deff0{\fonttbl{\f0 Geneva;}}The Kingfisher \'8a Lerchbruck\par}"
    (folder / "mac.rtf").write_bytes(mac)


def _mail(subject: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["Subject"] = subject
    message["From"] = "Ida Wren <ida@example.org>"
    message["To"] = "Office <office@example.org>, Per <per@example.org>"
    message["Date"] = WRITTEN
    message["Message-ID"] = "<1@example.org>"
    return message


def write_eml(folder: Path) -> None:
    plain = _mail("Überlauf at Lerchbruck 水位")
    plain.set_content("The Kingfisher gauge fell by 12 cm.\nÜber Nacht.\n")
    both = _mail("Re: Gauge survey")
    both.set_content("The Kingfisher gauge fell.\n\nOn Tue, 4 Mar 2025, Per wrote:\n> What of Lerchbruck?\n")
    both.add_alternative("<html><body><h1>Ignored</h1><p>The HTML part</p></body></html>", subtype="html")
    both.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="survey Überlauf.pdf")
    markup = _mail("Levels")
    markup.set_content(
        "<html><head><style>p{}</style></head><body><h1>Levels</h1><p>The Kingfisher gauge at Lerchbruck.</p>"
        "<table><tr><th>Station</th><th>Level</th></tr><tr><td>Steinhag</td><td>1.42</td></tr></table></body></html>",
        subtype="html",
    )
    forwarded = _mail("Fwd: Gauge survey")
    forwarded.set_content("See below.")
    forwarded.add_attachment(plain)
    for name, message in (("plain", plain), ("both", both), ("markup", markup), ("forwarded", forwarded)):
        data = message.as_bytes()
        if boundary := message.get_boundary():
            data = data.replace(boundary.encode(), b"boundary-1")
        (folder / f"{name}.eml").write_bytes(data)
    (folder / "latin.eml").write_bytes(
        b"From: ida@example.org\r\nSubject: =?iso-8859-1?Q?=DCberlauf?=\r\nDate: Tue, 4 Mar 2025 05:06:07 +0000\r\n"
        b"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
        b"Der Kingfisher-Pegel bei Lerchbruck fiel =FCber Nacht.\r\n"
    )
    (folder / "japanese.eml").write_bytes(
        b"From: ida@example.org\r\nSubject: =?ISO-2022-JP?B?GyRCP2UwTBsoQg==?=\r\n"
        b"Content-Type: text/plain; charset=ISO-2022-JP\r\n\r\n" + "水位が下がった。Kingfisher\r\n".encode("iso2022_jp")
    )
    (folder / "empty.eml").write_bytes(b"Subject: Nothing to say\r\n\r\n")


def write_damaged(folder: Path) -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    damaged = folder / "damaged"
    damaged.mkdir(exist_ok=True)
    for suffix in ("docx", "pptx", "xlsx"):
        source = {"docx": "python-docx", "pptx": "python-pptx", "xlsx": "openpyxl"}[suffix]
        with (folder / f"{source}.{suffix}").open("rb") as plain, (damaged / f"encrypted.{suffix}").open("wb") as file:
            OOXMLFile(plain).encrypt("secret", file)
    shutil.move(folder / "encrypted.pdf", damaged / "encrypted.pdf")
    shutil.move(folder / "without-text.pdf", damaged / "without-text.pdf")
    scan = bytearray((folder / "scan.pdf").read_bytes())
    start = scan.index(b"/DCTDecode")
    scan[start + 2000 : start + 30_000] = b"0" * 28_000
    (damaged / "corrupt-image.pdf").write_bytes(scan)
    for suffix in ("pdf", "docx", "pptx", "xlsx", "odt", "rtf", "epub", "jpg", "png", "tiff", "webp"):
        source = min(path for path in folder.glob(f"[a-z]*.{suffix}") if path.stem != "figures")
        data = source.read_bytes()
        (damaged / f"truncated.{suffix}").write_bytes(data[: len(data) * 2 // 3])
        (damaged / f"zero-bytes.{suffix}").write_bytes(b"")
        (damaged / f"really-text.{suffix}").write_text("Not what the suffix says.\n", encoding="utf-8")
    with zipfile.ZipFile(damaged / "encrypted.odt", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", zlib.compress(b"locked"))
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">'
            '<manifest:encryption-data manifest:checksum-type="SHA1/1K" manifest:checksum="x"/>'
            "</manifest:file-entry></manifest:manifest>",
        )
    with zipfile.ZipFile(damaged / "encrypted.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/encryption.xml",
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="text/1.xhtml"/>'
            "</CipherData></EncryptedData></encryption>",
        )
        archive.writestr("META-INF/container.xml", "<container/>")


def _replace_member(source: Path, to: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, change(data) if entry.filename == name else data, zipfile.ZIP_DEFLATED)


def write_hostile(folder: Path) -> None:
    hostile = folder / "hostile"
    hostile.mkdir(exist_ok=True)
    bomb = b"<w:p><w:r><w:t>" + b"A" * 5_000_000 + b"</w:t></w:r></w:p>"
    entity = (
        b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "'
        + b"a" * 10_000
        + b'">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
        + b"]>"
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "inflates.docx",
        "word/document.xml",
        lambda data: data.replace(b"<w:body>", b"<w:body>" + bomb * 40),
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "entities.docx",
        "word/document.xml",
        lambda data: (
            entity + data.split(b"?>", 1)[1].replace(b"<w:body>", b"<w:body><w:p><w:r><w:t>&j;</w:t></w:r></w:p>")
        ),
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "outside.docx",
        "word/document.xml",
        lambda data: (
            b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + data.split(b"?>", 1)[1].replace(b"<w:body>", b"<w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p>")
        ),
    )
    _replace_member(
        folder / "odfdo.odt",
        hostile / "deep.odt",
        "content.xml",
        lambda data: data.replace(b"<office:text>", b"<office:text>" + b"<text:section>" * 100_000),
    )
    with zipfile.ZipFile(hostile / "many-entries.pptx", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(300):
            archive.writestr(f"ppt/slides/slide{number}.xml", "")
    pages = 3000
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b"3 0 R " * pages)]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"]
    data, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    data.seek(0, io.SEEK_END)
    for number, text in enumerate(objects, start=1):
        offsets.append(data.tell())
        data.write(b"%d 0 obj%s endobj\n" % (number, text))
    start = data.tell()
    data.write(b"xref\n0 4\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % one for one in offsets))
    data.write(b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start)
    (hostile / "many-pages.pdf").write_bytes(data.getvalue())
    stream = zlib.compress(b"BT (A) Tj ET " * 20_000_000, 9)
    packed = zlib.compress(stream, 9)
    (hostile / "inflates.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Filter[/FlateDecode/FlateDecode]/Length "
        + str(len(packed)).encode()
        + b">>stream\n"
        + packed
        + b"\nendstream endobj\ntrailer<</Root 1 0 R>>"
    )
    write_image_bombs(hostile)
    (hostile / "deep.rtf").write_bytes(rb"{\rtf1 " + b"{" * 50_000 + b"A" + b"}" * 50_000 + b"}")
    (hostile / "binary.rtf").write_bytes(rb"{\rtf1 \bin999999999 A}")
    (hostile / "deep.eml").write_bytes(
        b"Subject: deep\r\n"
        + b"".join(b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(2000))
    )
    outside = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="../../../etc/passwd"/></rootfiles></container>'
    )
    with zipfile.ZipFile(hostile / "outside.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", outside)


def write_image_bombs(hostile: Path) -> None:
    """Write images of 50,000 × 50,000 black pixels: a PNG, and one in a PDF, which is 312 MB unpacked."""
    side = 50_000
    header = side.to_bytes(4, "big") * 2 + bytes((1, 0, 0, 0, 0))
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(side // 8 + 1) * 1000)), (b"IEND", b"")]
    (hostile / "huge.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
            for kind, data in chunks
        )
    )
    packed = zlib.compress(zlib.compress(bytes(side * side // 8), 9), 9)
    (hostile / "huge-image.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</XObject<</A 4 0 R>>>>>>"
        b"endobj\n4 0 obj<</Type/XObject/Subtype/Image/Width 50000/Height 50000/BitsPerComponent 1"
        b"/ColorSpace/DeviceGray/Filter[/FlateDecode/FlateDecode]/Length "
        + str(len(packed)).encode()
        + b">>stream\n"
        + packed
        + b"\nendstream endobj\n5 0 obj<</Length 26>>stream\n600 0 0 800 0 0 cm /A Do  \nendstream endobj\n"
        b"trailer<</Root 1 0 R>>"
    )


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
