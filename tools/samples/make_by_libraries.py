"""Sample files by the libraries that people write documents with; `make.py` calls these."""

import tempfile
import zipfile
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

from programs import ROWS, WRITTEN, office


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
