"""Words divided at the end of a line; the mark is PDFium's."""

import pytest

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.pdf.hyphens import with_whole_words
from tests.readers.pdf.pages import Shown, pdf

MARK = "\x02"


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([f"the read{MARK}\nings of noon"], ["the readings of noon"]),
        ([f"a well{MARK}\nknown weir", "It is well-known."], ["a well-known weir", "It is well-known."]),
        ([f"a Well{MARK}\r\nKnown weir", "It is well-known."], ["a Well-Known weir", "It is well-known."]),
        ([f"re{MARK}\nopened", "re-opened, reopened"], ["reopened", "re-opened, reopened"]),
        ([f"of the{MARK}\nart", "state-of-the-art"], ["of the-art", "state-of-the-art"]),
        (["a last one\ufffe"], ["a last one"]),
        ([f"https://a.example/weir{MARK}\nlevels, or oth{MARK}\ners"], ["https://a.example/weir-levels, or others"]),
        ([f"Vor{MARK}\nund Nachteile der Vor{MARK}\nhaben"], ["Vor- und Nachteile der Vorhaben"]),
        ([f"Coca{MARK}\nCola, X{MARK}\nrays, F{MARK}\n16"], ["Coca-Cola, X-rays, F-16"]),
        ([f"INTERNA{MARK}\nTIONAL, Java{MARK}\nScript", "JavaScript"], ["INTERNATIONAL, JavaScript", "JavaScript"]),
        (["the read\u2010\nings, Coca\u2010\r\nCola, a\u2010b"], ["the readings, Coca-Cola, a\u2010b"]),
        ([f"two{MARK}\nfold and three{MARK}\nfold", "a two-fold one"], ["two-fold and threefold", "a two-fold one"]),
    ],
)
def test_a_compound_word_keeps_the_hyphen_that_it_has_elsewhere(texts: list[str], whole: list[str]) -> None:
    assert with_whole_words(texts) == whole


def test_words_with_a_hyphen_at_the_end_of_a_line_are_not_lost() -> None:
    shown = [
        Shown(72, 700, "The gauge of Baden-"),
        Shown(72, 686, "Baden is a well-"),
        Shown(72, 672, "known one, well-known"),
    ]
    found = extract_text(pdf(shown), "a.pdf")
    assert found.text == "The gauge of Baden-Baden is a well-known one, well-known"
    assert found.losses is not None
    assert found.losses.lost == 0


def test_a_divided_word_at_the_end_of_a_line_parts_no_paragraph() -> None:
    lines = [
        "The gauge of Halden is read",
        "at noon, as all of them are, since read-",
        "ings of the night are rare",
        "and few.",
        "It is old.",
    ]
    shown = [Shown(72, y, line) for y, line in zip((700, 686, 672, 658, 630), lines, strict=True)]
    found = extract_text(pdf(shown), "a.pdf").text.split("\n")
    assert found == [
        lines[0],
        "at noon, as all of them are, since readings of the night are rare",
        "and few.",
        "",
        lines[4],
    ]
