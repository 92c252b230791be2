"""Write the PDF, spreadsheet, deck and mail of the sample source `board`.

    pip install fpdf2 openpyxl python-pptx && python examples/make_board.py

Running it again is only needed after their text was edited here.
"""

from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

from fpdf import FPDF
from openpyxl import Workbook
from pptx import Presentation

FOLDER = Path(__file__).parent / "sources" / "board"
WRITTEN = datetime(2025, 6, 20, 9, tzinfo=UTC)

INSPECTION = [
    (
        "Inspection of the brackets, June 2025",
        """The board of Orrin Instruments asked on 27 March 2025 for an inspection of every bracket that holds
a Kingfisher Radar. Hesper Dunmore and Katrin Vollmoor made it between 2 and 13 June 2025. There are
eleven brackets. Ten are sound.

The bracket at Station 27, under the road bridge of Ammerforst, has a crack of nine millimetres
beside the upper weld. It was cast by Sallow Lane Foundry in October 2023 and carries the casting
number 231014. Katrin Vollmoor took the radar down on 11 June 2025, and the station has been read by
hand since.

Five other brackets have casting numbers of the same week. They were tested with dye on the spot and
showed nothing.""",
    ),
    (
        "What is recommended",
        """First, Sallow Lane Foundry replaces the bracket of Station 27 and has the weld of every new bracket
tested with dye before delivery. The foreman, Osric Tamblyn, agreed to this on 16 June 2025.

Second, a bracket is photographed at each visit from the same side as the survey bolt. The
photograph goes into the file of the station, as with the Bolt Photograph.

Third, the six brackets of October 2023 are inspected again in six months, before the frost ends, by
Emil Dornacher.""",
    ),
]

SHEETS = {
    "Spare parts": [
        ("part", "supplier", "price in crowns", "in stock", "least stock"),
        ("Desiccant cartridge", "Orrin Instruments", 38, 212, 80),
        ("Clear Cap with window", "Varnholt Glass", 145, 64, 30),
        ("Pellmar P9 battery pack", "Pellmar Batteries", 260, 51, 41),
        ("Kingfisher Radar bracket", "Sallow Lane Foundry", 410, 3, 4),
        ("Larkspur Beacon lamp", "Corbin & Daughters", 72, 9, 6),
    ],
    "Orders above 20,000 crowns": [
        ("order", "date", "supplier", "crowns", "signed by"),
        ("2024-31", "2024-05-06", "Pellmar Batteries", 46800, "Ruben Askell, Helena Storrow"),
        ("2025-07", "2025-02-17", "Tollgate Telemetry", 61500, "Ruben Askell, Helena Storrow"),
        ("2025-12", "2025-06-18", "Sallow Lane Foundry", 24600, "Ruben Askell, Helena Storrow"),
    ],
}

SLIDES = [
    (
        "Three patterns behind seven incidents",
        ["Edda Rasmott, for the board", "27 March 2025, the Tannery, Kessing"],
        "Tobias Wexcombe asked for a version without photographs.",
    ),
    (
        "A single witness",
        [
            "Halden Weir, Kessing, Steinhag Dam: one instrument was believed",
            "The Second-Station Rule: no siren on one reading alone",
            "The Bolt Photograph: no height without a picture",
        ],
        "Tobias Wexcombe asked what a second witness costs. Answer: nothing, the stations exist.",
    ),
    (
        "The missing winter",
        [
            "Pellmar P7 and firmware 5.2 were tested in a warm room",
            "New: two days in the cold store of Amos Pettibone's bakery",
            "Rent of the cold store: 90 crowns a month",
        ],
        "",
    ),
    (
        "What the board is asked to decide",
        [
            "Inspect all brackets of the Kingfisher Radar before July 2025",
            "Buy a cold chamber for 18,400 crowns, or stay with the bakery",
            "Decided: inspect; stay with the bakery",
        ],
        "The cold chamber is to be asked for again in 2027.",
    ),
]

MAIL = """Dear Ms Storrow,

thank you for the report on the accident at Corley Bridge and for the photographs of the railing.

Northwold Mutual accepts the claim under policy NM-2204-118. We pay 31,250 crowns for the boat, the survey gear of
Station 9 and the treatment of Mr Jonah Prewitt. The excess of 2,500 crowns has been deducted.

From 1 July 2025 the premium falls by eight per cent, because the Two-Person Rule has been kept on every visit that we
checked. Our assessor, Beatrix Olander, would like to see the lock keeper's barometer when she is next at the Tannery.

Yours sincerely,
Casimir Holm
Northwold Mutual, claims
"""


def write_inspection() -> None:
    """Write a PDF of two pages."""
    pdf = FPDF()
    pdf.set_creation_date(WRITTEN)
    pdf.set_title("Inspection of the brackets, June 2025")
    pdf.set_author("Hesper Dunmore")
    for heading, text in INSPECTION:
        pdf.add_page()
        pdf.set_font("Helvetica", "B", 16)
        pdf.multi_cell(0, 10, heading, new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=11)
        for paragraph in text.split("\n\n"):
            pdf.multi_cell(0, 6, " ".join(paragraph.split()), new_x="LMARGIN", new_y="NEXT")
            pdf.ln(4)
    pdf.output(str(FOLDER / "bracket-inspection.pdf"))


def write_stock() -> None:
    """Write a workbook of two sheets."""
    book = Workbook()
    book.remove(book.active)
    for title, rows in SHEETS.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.properties.title, book.properties.creator = "Spare parts and large orders", "Ruben Askell"
    book.properties.created = book.properties.modified = WRITTEN.replace(tzinfo=None)
    book.save(FOLDER / "spare-parts.xlsx")


def write_deck() -> None:
    """Write a deck of four slides with notes."""
    deck = Presentation()
    for title, points, notes in SLIDES:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(points)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    deck.core_properties.title, deck.core_properties.author = "Three patterns", "Edda Rasmott"
    deck.core_properties.created = deck.core_properties.modified = datetime(2025, 3, 27)
    deck.save(str(FOLDER / "three-patterns.pptx"))


def write_mail() -> None:
    """Write a mail of plain text."""
    mail = EmailMessage()
    mail["From"] = "Casimir Holm <casimir.holm@northwold.example>"
    mail["To"] = "Helena Storrow <helena.storrow@orrin.example>"
    mail["Date"] = "Mon, 23 Jun 2025 10:12:00 +0200"
    mail["Subject"] = "Claim NM-2204-118: Corley Bridge"
    mail["Message-ID"] = "<20250623101200.nm-2204-118@northwold.example>"
    mail.set_content(MAIL)
    (FOLDER / "insurer.eml").write_bytes(mail.as_bytes())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for write in (write_inspection, write_stock, write_deck, write_mail):
        write()
