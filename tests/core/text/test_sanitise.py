import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.sanitise import sanitise, with_characters
from lightrag_dagster.readers.extraction import extract_text


# Reported case G2.
@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  text\n", "text"),
        ("a &amp; b &lt;c&gt;", "a &amp; b &lt;c&gt;"),
        ("tab\there\r\nline", "tab\there\r\nline"),
        ("bell\x07 null\x00 delete\x7f", "bell null delete"),
        ("vertical\x0bform\x0c escape\x1b", "vertical\nform\n escape"),
        ("page one\fpage two\n\f\npage three\f", "page one\npage two\n\n\npage three"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("not\ufffe a\uffff character", "not a character"),
        ("\x00 hidden edge \x00", "hidden edge"),
        ("Zu\u0308rich, Jose\u0301", "Zürich, José"),
        ("", ""),
        (" \x00\t", ""),
    ],
)
def test_literal_cases(raw: str, clean: str) -> None:
    assert sanitise(raw) == clean


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("a &amp; b &lt;c&gt;", "a & b <c>"),
        *[(f"&{one};&#233;", f"{shown}é") for one, shown in (("ouml", "ö"), ("hellip", "…"), ("x", "&x;"))],
        *[(one, one) for one in ("/?lang=en&region=eu", "q=&regs[3]", "&notset;", "AT&T", "&#;", "a &lt b")],
    ],
)
def test_references_end_with_a_semicolon(raw: str, read: str) -> None:
    assert with_characters(raw) == read


# Reported case G7.
@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("Ostrel\u00adBasin", "OstrelBasin"),
        ("the\u200b weir, the\u2060re, \ufeffhere", "the weir, there, here"),
        ("\u202eabc\u202c \u2066def\u2069 g\u200eh\u200f", "abc def gh"),
        ("gau\u200cge \u0627\u061c\u0628", "gauge \u0627\u0628"),
        # joiners that letters and pictures need
        *[(one, one) for one in ("\u0645\u06cc\u200c\u062e\u0648", "\U0001f468\u200d\U0001f469", "e\u2011mail")],
    ],
)
def test_what_nothing_shows_is_left_out(raw: str, clean: str) -> None:
    assert sanitise(raw) == clean
    assert extract_text(raw.encode(), "a.md").text == clean


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_store_refuses_remains(text: str) -> None:
    clean = sanitise(text)
    clean.encode("utf-8")
    assert clean == clean.strip()
    controls = {character for character in clean if unicodedata.category(character) == "Cc"}
    assert not {character for character in controls if character < " "} - set("\t\n\r")
    assert not set(clean) & {"\x7f", "\ufffe", "\uffff"}


@given(st.text(st.characters(categories=["L", "N", "P", "S"])).filter(lambda text: ";" not in text))
def test_ordinary_text_stays(text: str) -> None:
    assert sanitise(text) == unicodedata.normalize("NFC", text).replace("\ufffe", "").replace("\uffff", "").strip()
