"""Characters off the line, drawn twice or set apart, as people read them."""

from collections.abc import Sequence

import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.pdf.pages import Shown, pdf

WIDTHS = {**dict.fromkeys("ilj", 2.66), **dict.fromkeys("tf", 3.34), **dict.fromkeys("mM", 10), " ": 3.34}


def text_of(shown: Sequence[Shown]) -> str:
    return extract_text(pdf(shown), "a.pdf").text


# Reported cases E1, E10.
@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (
            [Shown(72, 700, "The flow was 10"), Shown(158.7, 704.5, "6", 8), Shown(163.1, 700, " litres a day.")],
            "The flow was 10^6 litres a day.",
        ),
        ([Shown(72, 700, "Area 40 m"), Shown(125.4, 704, "2", 7), Shown(129.4, 700, " in all")], "Area 40 m² in all"),
        ([Shown(72, 700, "Loss 10"), Shown(114, 705, "-12", 7), Shown(124.5, 700, " bar")], "Loss 10^-12 bar"),
        ([Shown(72, 700, "Much CO"), Shown(121, 697, "2", 8), Shown(125.5, 700, " there")], "Much CO2 there"),
        ([Shown(72, 700, "As said"), Shown(114, 704, "12", 7), Shown(122, 700, " before")], "As said¹² before"),
        ([Shown(72, 700, "Price 500"), Shown(122.7, 704, "1", 7), Shown(126.6, 700, " net")], "Price 500^1 net"),
        ([Shown(72, 700, "As said"), Shown(114, 704, "1234", 7), Shown(130, 700, " there")], "As said¹²³⁴ there"),
        ([Shown(72, 700, "Station 10"), Shown(150, 706, "12.50", 8)], "Station 10 12.50"),
        ([Shown(72, 700, "The 1"), Shown(101.4, 704, "st", 7), Shown(107, 700, " of May")], "The 1st of May"),
        ([Shown(72, 704, "12", 7), Shown(80, 700, "Halden, p. 4")], "12 Halden, p. 4"),
        ([Shown(72, 704, "14", 7), Shown(80, 700, "C dating")], "14C dating"),
        ([Shown(72, 700, "Year 1997"), Shown(72, 686, "2 weirs")], "Year 1997\n2 weirs"),
        ([Shown(72, 700, "Station 10"), Shown(150, 706, "12.50")], "Station 10 12.50"),
    ],
)
def test_what_is_raised_or_lowered_stays_on_its_line(shown: list[Shown], text: str) -> None:
    assert text_of(shown) == text


# As Libertinus has them, the font of Typst.
def test_a_digit_that_its_font_has_raised_is_the_mark_of_a_note() -> None:
    mapped = b"begincmap 1 begincodespacerange <00><FF> endcodespacerange 1 beginbfchar <32> <0032> endbfchar endcmap"
    font = b"/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[50/twosuperior]>>/ToUnicode 99 0 R"
    data = pdf([Shown(72, 700, "The weir2 of 1911"), Shown(72, 600, "2"), Shown(76.1, 600, "Halden, p. 4")])
    data = data.replace(b"/Encoding/WinAnsiEncoding", font)
    data = data.replace(
        b"trailer", b"99 0 obj\n<</Length %d>>stream\n%b\nendstream\nendobj\ntrailer" % (len(mapped), mapped)
    )
    assert extract_text(data, "a.pdf").text.split("\n") == ["The weir² of 1911", "2 Halden, p. 4"]


# Reported case E3.
@pytest.mark.parametrize("away", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("word", ["Municipality", "Kissing", "illicit"])
def test_letters_of_a_shadow_are_read_once(word: str, away: float) -> None:
    shown, x = [], 72.0
    for letter in word:
        shown += [Shown(x, 700, letter), Shown(x + away, 699.5, letter)]
        x += WIDTHS.get(letter, 6.67)
    assert text_of(shown) == word


# Reported case E3.
@pytest.mark.parametrize("away", [0.8, 1.5, 2.5])
def test_a_line_of_a_shadow_is_read_once(away: float) -> None:
    shown = [Shown(72, 700, "All well below"), Shown(72 + away, 700 - away, "All well below"), Shown(72, 650, "Next")]
    assert text_of(shown) == "All well below\nNext"


# Reported case E6.
@pytest.mark.parametrize(("gap", "space"), [(1.6, 5), (2.4, 6), (3.5, 9)])
def test_letters_that_are_set_apart_are_words(gap: float, space: float) -> None:
    shown, x = [], 72.0
    for letter in "till it fits at last":
        if letter == " ":
            x += space
            continue
        shown.append(Shown(x, 700, letter))
        x += WIDTHS.get(letter, 6.2) + gap
    assert text_of(shown) == "till it fits at last"


def test_single_letters_with_usual_spaces_stay_apart() -> None:
    assert text_of([Shown(72, 700, "A B C D E")]) == "A B C D E"
    assert text_of([Shown(72 + 20 * place, 700, letter) for place, letter in enumerate("ABCDE")]) == "A B C D E"


@pytest.mark.parametrize("word", ["ANNEX", "TOTAL", "RIVER"])
def test_letters_below_one_another_are_a_word(word: str) -> None:
    shown = [Shown(72, 700 - 14 * place, letter) for place, letter in enumerate(word)]
    assert text_of([*shown, Shown(72, 500, "The end")]).splitlines()[0] == word


def test_what_reads_otherwise_is_not_lost() -> None:
    shown = [Shown(72, 700, "Flow of 10"), Shown(127.4, 704.5, "6", 8), Shown(132, 700, " litres")]
    found = extract_text(pdf(shown), "a.pdf")
    assert found.losses is not None
    assert (found.text, found.losses.words, found.losses.lost) == ("Flow of 10^6 litres", 4, 0)
