"""PDF files that are written here; `test_samples.py` reads those of programs."""

import io
import zlib

import pypdfium2
import pytest

from lightrag_dagster.readers.content import ReadingOptions
from lightrag_dagster.readers.extraction import extract_text
from tests.readers.pdf.pages import Shown
from tests.readers.pdf.pages import pdf as of_places


def pdf(shown: str, unicode: str) -> bytes:
    """Return a page that shows something in a font whose A is another character. UTF-16, in hexadecimal."""
    characters = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange <00> <FF> "
        f"endcodespacerange 1 beginbfchar <41> <{unicode}> endbfchar endcmap end end"
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Courier/ToUnicode 6 0 R>>",
        f"<</Length {len(characters)}>>stream\n{characters}\nendstream",
    ]
    written = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, start=1))
    return f"%PDF-1.4\n{written}trailer<</Root 1 0 R>>".encode("latin-1")


def test_characters_of_two_units_are_read() -> None:
    shown = "BT /F 10 Tf 1 0 0 1 50 700 Tm (A weir) Tj 1 0 0 1 50 680 Tm (of stone) Tj ET"
    assert extract_text(pdf(shown, "D83DDE00"), "a.pdf").text == "\U0001f600 weir\nof stone"
    assert extract_text(pdf(shown, "00C4"), "a.pdf").text == "Ä weir\nof stone"


@pytest.mark.parametrize("letter", ["\U0001f600", "\U0001d465", "\u00c4"])
def test_a_page_with_characters_of_two_units_keeps_its_headings_and_powers(letter: str) -> None:
    places = [(20, 50, 700, "The Aweir"), (10, 50, 660, "A is 10"), (7, 92, 664, "6"), (10, 96.2, 660, " of A litres")]
    places += [(10, 50, 640, "# of the gauges: all of them are right")]
    shown = "".join(f"BT /F {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET " for size, x, y, text in places)
    found = extract_text(pdf(shown, letter.encode("utf-16-be").hex()), "a.pdf")
    written = "# The Aweir\n\nA is 10^6 of A litres\n\\# of the gauges: all of them are right"
    assert found.text == written.replace("A", letter)
    assert (found.losses, found.title) == (found.losses and found.losses._replace(lost=0), f"The {letter}weir")


@pytest.mark.parametrize(
    ("seen", "read"),
    [
        ("AAA AA Weir Works Ltd A", "A Weir Works Ltd AA AAA"),
        ("AAAA ISO 9001 AAA 1999 AA Red Hat Linux A", "A Red Hat Linux AA 1999 AAA ISO 9001 AAAA"),
        ("AA ISO 9001 AAA Red Hat, Inc. A", "A Red Hat, Inc. AAA ISO 9001 AA"),
        ("The word AA A is one", "The word A AA is one"),
        ("AAA AA A", "A AA AAA"),
        ("Weir Works Ltd", "Weir Works Ltd"),
    ],
)
def test_a_line_in_two_directions_is_in_its_order(seen: str, read: str) -> None:
    shown = f"BT /F 10 Tf 1 0 0 1 50 700 Tm ({seen}) Tj ET"
    assert extract_text(pdf(shown, "05D0"), "a.pdf").text == read.replace("A", "\u05d0")


@pytest.mark.parametrize(("seen", "read"), [("AA \\(AAA\\) A", "A (AAA) AA"), ("AA \\)AAA\\( A", "A (AAA) AA")])
def test_brackets_of_a_line_from_right_to_left_open_before_they_close(seen: str, read: str) -> None:
    shown = f"BT /F 10 Tf 1 0 0 1 50 700 Tm ({seen}) Tj ET"
    assert extract_text(pdf(shown, "05D0"), "a.pdf").text == read.replace("A", "\u05d0")


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([(60, 20), (50, 22), (50, 22), (50, 5)], "A" * 69),
        ([(50, 22), (50, 12), (50, 22), (50, 3)], f"{'A' * 34}\n{'A' * 25}"),
        ([(50, 22), (70, 20), (50, 22)], f"{'A' * 22}\n{'A' * 42}"),
        ([(50, 9), (50, 9), (50, 9)], "\n".join(["A" * 9] * 3)),
    ],
    ids=["paragraph", "two", "indented", "list"],
)
@pytest.mark.parametrize(
    ("letter", "joins"), [("\u6c34", True), ("\u3042", True), ("\ud55c", False), ("\u0431", False)]
)
def test_a_line_of_a_script_without_spaces_goes_on(
    places: list[tuple[int, int]], text: str, letter: str, joins: bool
) -> None:
    lines = [(x, 700 - 14 * at, "A" * count) for at, (x, count) in enumerate(places)]
    shown = "".join(f"BT /F 10 Tf 1 0 0 1 {x} {y} Tm ({line}) Tj ET " for x, y, line in lines)
    read = extract_text(pdf(shown, letter.encode("utf-16-be").hex()), "a.pdf").text.replace(letter, "A")
    assert read == (text if joins else "\n".join(line for *_, line in lines))


def test_a_font_without_characters_is_noted() -> None:
    shown = "BT /F 12 Tf 72 700 Td <002400250026> Tj 0 -20 Td <00300031> Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        "<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Foo/Encoding/Identity-H/DescendantFonts[6 0 R]>>",
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/ABCDEF+Foo/DW 600/FontDescriptor 7 0 R"
        "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>",
        "<</Type/FontDescriptor/FontName/ABCDEF+Foo/Flags 4/FontBBox[0 0 1000 1000]/Ascent 800/Descent -200>>",
    ]
    written = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, start=1))
    found = extract_text(f"%PDF-1.4\n{written}trailer<</Root 1 0 R>>".encode(), "a.pdf")
    assert found.note == "fonts do not say which characters they show: text is wrong or missing on pages 1"


@pytest.mark.parametrize("unicode", ["E041", "FFFD", "0000", "DBC0DC41", "0004"])
@pytest.mark.parametrize(
    ("lines", "text", "is_named"),
    [
        (["AAAA AAA AAA", "AA AAAAA"], "", True),
        (["The weir of 1911", "AAAA AAA AAAA AAA AAA"], "The weir of 1911", True),
        (["The weir is of stone", "and the gates are AAAA"], "The weir is of stone\nand the gates are AAAA", True),
        (["A yes", "A no", "A never"], "A yes\nA no\nA never", False),
    ],
)
def test_characters_of_a_font_alone_are_named(lines: list[str], text: str, is_named: bool, unicode: str) -> None:
    shown = "".join(f"BT /F 10 Tf 1 0 0 1 50 {700 - 20 * at} Tm ({one}) Tj ET " for at, one in enumerate(lines))
    found = extract_text(pdf(shown, unicode), "a.pdf")
    if unicode not in ("0000", "0004"):
        text = text.replace("A", bytes.fromhex(unicode).decode("utf-16-be"))
        assert "\n".join(filter(None, found.text.splitlines())) == text
    assert (found.note is not None) == is_named
    assert (found.why_empty is not None) == (not text or lines[1].startswith("AAAA"))


# Reported case E4.
@pytest.mark.parametrize(
    ("glyph", "text"), [("06270644", "لا"), ("06230644", "لأ"), ("FEFB", "لا"), ("FE8D", "ا"), ("FB01", "fi")]
)
def test_letters_are_written_without_form(glyph: str, text: str) -> None:
    shown = "BT /F 10 Tf 1 0 0 1 50 700 Tm (A) Tj ET"
    assert text in extract_text(pdf(shown, glyph), "a.pdf").text


def test_attachments_are_named() -> None:
    document = pypdfium2.PdfDocument(of_places([Shown(60, 700, "The weir")]))
    for name in ("rows.csv", "invoice.xml"):
        document.new_attachment(name).set_data(b"a")
    data = io.BytesIO()
    document.save(data)
    said = "2 of 2 attachments are not read: invoice.xml, rows.csv; save them as files of their own"
    assert extract_text(data.getvalue(), "a.pdf").note == said


def test_a_file_at_a_place_is_an_attachment() -> None:
    spec = "<</Type/Filespec/F(rows.csv)/UF(rows.csv)/EF<</F 9 0 R>>>>"
    place = f"<</Type/Annot/Subtype/FileAttachment/Rect[60 60 80 80]/FS{spec}>>"
    found = extract_text(of_places([Shown(60, 700, "The weir")], annotations=[place]), "a.pdf")
    assert found.text == "The weir"
    assert found.note == "1 of 1 attachments are not read: rows.csv; save them as files of their own"


def test_lines_outside_of_the_page_are_left_out_and_counted() -> None:
    shown = [Shown(60, 700, "The weir"), Shown(60, 900, "above"), Shown(-200, 700, "beside"), Shown(60, -40, "below")]
    found = extract_text(of_places(shown), "a.pdf")
    assert (found.text.strip(), found.note) == ("The weir", "3 lines outside of the visible page are left out")
    assert found.losses is not None
    assert found.losses.lost == 0
    assert extract_text(of_places([Shown(60, 900, "above")]), "a.pdf").text == "above"


@pytest.mark.parametrize("is_packed", [False, True])
def test_layers_that_are_switched_off_are_noted(is_packed: bool) -> None:
    catalog = b"<</OCProperties<</OCGs[9 0 R]/D<</OFF[ 9 0 R ]>>>>>>"
    packed = zlib.compress(catalog)
    stream = b"<</Type/ObjStm/Length %d>>stream\n%s\nendstream" % (len(packed), packed)
    data = of_places([Shown(60, 700, "The weir")]) + b"\n% " + (stream if is_packed else catalog)
    assert extract_text(data, "a.pdf").note == "the text of layers that are switched off is read too"


TURNS = {90: "0 1 -1 0 595 0", 180: "-1 0 0 -1 595 842", 270: "0 -1 1 0 0 842"}
"""The matrix of a page's content for each angle at which the page is turned then."""


def test_tables_on_two_pages_keep_their_headers() -> None:
    tables = [[("Site", "Staff"), ("Ulm", "120")], [("Revenue in EUR", "2024"), ("Pumps", "2,100")]]
    across, down = ("".join(one) for one in (
        [f"72 {at} m 272 {at} l S " for at in (415, 395, 375)],
        [f"{at} 415 m {at} 375 l S " for at in (72, 172, 272)],
    ))  # fmt: skip
    pages = [[Shown(75 + 100 * x, 400 - 20 * y, one) for y, row in enumerate(rows) for x, one in enumerate(row)]
             for rows in tables]  # fmt: skip
    assert extract_text(of_places(*pages, drawn=across + down), "a.pdf").text.split("\n\n") == [
        f"| {first[0]} | {first[1]} |\n| --- | --- |\n| {second[0]} | {second[1]} |" for first, second in tables
    ]


@pytest.mark.parametrize("angle", TURNS)
def test_a_turned_page_is_read_as_it_is_shown(angle: int) -> None:
    rows = [("Gauge", "Level", "Flow"), ("Kessing", "120", "7"), ("Lerch", "99", "3")]
    cells = [Shown(72 + 90 * x, 400 - 20 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    lines = [Shown(72, 520, "Gauges", 20), Shown(72, 480, "The flow was 10"), Shown(158.7, 484.5, "6", 8)]
    lines += [Shown(163.1, 480, " litres a day, of all the gauges."), Shown(72, 460, "Name:")]
    across = " ".join(f"72 {at} m 340 {at} l S" for at in (415, 395, 375, 355))
    down = " ".join(f"{at} 415 m {at} 355 l S" for at in (70, 160, 250, 340))
    place = {90: "127 110 145 280", 180: "315 373 485 391", 270: "450 562 468 732"}[angle]
    written = f"<</Type/Annot/Subtype/Widget/FT/Tx/T(n)/Rect[{place}]/F 4/V(Ida Wren)>>"
    page = of_places([*lines, *cells], drawn=f"{TURNS[angle]} cm {across} {down}", fields=[written])
    found = extract_text(page.replace(b"/MediaBox", b"/Rotate %d/MediaBox" % angle), "a.pdf")
    text = "# Gauges\n\nThe flow was 10^6 litres a day, of all the gauges.\nName: Ida Wren"
    assert (
        found.text
        == f"{text}\n\n| Gauge | Level | Flow |\n| --- | --- | --- |\n| Kessing | 120 | 7 |\n| Lerch | 99 | 3 |"
    )
    on_its_side = of_places([*lines, *cells], drawn=f"{across} {down}")
    found = extract_text(on_its_side.replace(b"/MediaBox", b"/Rotate %d/MediaBox" % angle), "a.pdf")
    assert "| Kessing | 120 | 7 |" in found.text


def test_headings_of_one_size_are_apart() -> None:
    shown = [
        Shown(250, 780, "Weirs of 2024", 18),
        Shown(72, 752, "Introduction to the gauges", 18),
        Shown(72, 730, "and the locks", 18),
        Shown(72, 680, "Results", 18),
        *(Shown(72, y, "The gauge of Halden is read at noon.", 10) for y in range(650, 550, -12)),
    ]
    text = extract_text(of_places(shown), "a.pdf").text
    assert text.startswith(
        "# Weirs of 2024\n\n\n# Introduction to the gauges and the locks\n\n\n# Results\n\nThe gauge"
    )


def test_the_larger_number_of_an_item_makes_no_heading() -> None:
    prose = [Shown(72, y, "The gauge of Halden is read at noon.", 10) for y in range(650, 550, -12)]
    items = [Shown(72, 536, "1", 14), Shown(84, 536, "is the upper gauge of it", 10)]
    assert "#" not in extract_text(of_places([*prose, *items]), "a.pdf").text


def test_marks_that_are_drawn_behind_all_text_are_before_their_items() -> None:
    items = [Shown(90, 700, "the upper gauge"), Shown(90, 686, "the lower gauge"), Shown(72, 660, "All are read.")]
    marks = [Shown(72, 700, "1."), Shown(72, 686, "2.")]
    assert extract_text(of_places([*items, *marks]), "a.pdf").text == (
        "1. the upper gauge\n2. the lower gauge\n\nAll are read."
    )


SCAN = "q 595 0 0 842 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"
TYPED = [Shown(72, 600 - 20 * at, "The weir was built by Ida Wren, and its gates are of oak.") for at in range(2)]
NOT_READ = "text in the images of pages {} is not read; documents.recognise_text reads it"


def stamp(page: int) -> Shown:
    return Shown(40, 825, f"Case 1:19-cv-07301-CM-RWL Document 125-3 Filed 12/14/20 Page {page} of 8", 8)


def test_scanned_pages_behind_others_are_named() -> None:
    assert extract_text(of_places(TYPED, [], [], [], drawn=SCAN), "a.pdf").note == NOT_READ.format("2, 3, 4")
    assert extract_text(of_places(TYPED, *[[]] * 7, drawn=SCAN), "a.pdf").note == NOT_READ.format("2, 3, 4, 5, 6, …")
    assert extract_text(of_places(TYPED, TYPED, drawn=SCAN), "a.pdf").note is None


@pytest.mark.parametrize("keep", [False, True])
def test_a_stamp_that_repeats_is_not_the_text_of_a_scan(keep: bool) -> None:
    options = ReadingOptions(keep_repeated_lines=keep)
    data = of_places([stamp(1), *TYPED], *([stamp(page)] for page in range(2, 5)), drawn=SCAN)
    found = extract_text(data, "a.pdf", options)
    assert found.note is not None
    assert found.note.endswith(NOT_READ.format("2, 3, 4"))
    assert ("Case" in found.text) == keep
    found = extract_text(of_places(*([stamp(page)] for page in range(1, 5)), drawn=SCAN), "a.pdf", options)
    assert (found.note, found.text.count("Case")) == (NOT_READ.format("1, 2, 3, 4"), 4)
    assert extract_text(of_places(*([stamp(page)] for page in range(1, 5))), "a.pdf", options).note is None


def test_lines_over_a_background_beside_long_headers_are_text() -> None:
    shown = ["Turnover grew by 12%", "Staff: 340 people", "Next year: Geneva", "Thank you", "Questions?"]
    slides = [[stamp(page), Shown(72, 500, line, 24)] for page, line in enumerate(shown, start=1)]
    found = extract_text(of_places(*slides, drawn=SCAN), "a.pdf")
    assert (found.note or "").endswith("documents.keep_repeated_lines keeps them")
    assert found.text.split("\n\n") == shown
    numbered = [[stamp(page), Shown(280, 40, f"AB-{3 * page}")] for page in range(1, 5)]
    found = extract_text(of_places(TYPED, *numbered, drawn=SCAN), "a.pdf")
    assert (found.note or "").endswith(NOT_READ.format("2, 3, 4, 5"))


@pytest.mark.parametrize(
    ("drawn", "is_named"),
    [
        ("100 400 m 500 400 l S", False),
        ("0.9 g 0 0 595 842 re f 0 g", False),
        (SCAN, True),
        ("q 100 0 0 100 90 90 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q", True),
        ("90 90 m 90 120 l 100 120 120 100 90 90 c 80 70 l 60 60 l 50 40 l f", True),  # a letter
    ],
)
def test_a_page_that_was_left_empty_is_no_scan(drawn: str, is_named: bool) -> None:
    for empty in ([], [Shown(72, 700, " ")]):
        found = extract_text(of_places(TYPED, empty, TYPED, drawn=drawn), "a.pdf")
        assert found.note == (NOT_READ.format("2") if is_named else None)


def test_a_page_whose_objects_cannot_be_listed_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = list[bool]()
    close = pypdfium2.PdfPage.close

    def listing(page: pypdfium2.PdfPage) -> None:
        raise pypdfium2.PdfiumError("damaged")

    def closing(page: pypdfium2.PdfPage, _by_parent: bool = False) -> bool:
        closed.append(not _by_parent)
        return bool(close(page, _by_parent))

    monkeypatch.setattr(pypdfium2.PdfPage, "get_objects", listing)
    monkeypatch.setattr(pypdfium2.PdfPage, "close", closing)
    assert extract_text(of_places([]), "a.pdf").text == ""
    assert closed == [True, True]
