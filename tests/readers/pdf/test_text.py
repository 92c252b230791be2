"""PDF files that are written here; `test_samples.py` reads those of programs."""

from lightrag_dagster.readers.extraction import extract_text


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
