"""Marks inside a line are written alike by all readers."""

import pytest

from lightrag_dagster.readers.inline import alternative_text, check_box, raised, struck, whole_words, write_struck


# Reported cases A15, E1.
@pytest.mark.parametrize(
    ("before", "text", "written"),
    [
        ("10", "6", "^6"),
        ("10", "−3", "^−3"),
        ("(a+b)", "2", "^2"),
        ("m", "3", "³"),
        ("s", "-1", "⁻¹"),
        ("Ca", "2+", "²⁺"),
        ("CO3", "2−", "^2−"),
        ("the weir", "12", "¹²"),
        ("", "2", "²"),
        ("19", "th", "th"),
        ("measured", "[2]", "[2]"),
        ("500", "1)", "^1)"),
        ("2019", "2,3", "^2,3"),
        ("500", "a)", "a)"),
    ],
)
def test_a_raised_number_stays_a_number(before: str, text: str, written: str) -> None:
    assert raised(before, text) == written


@pytest.mark.parametrize(
    ("texts", "written"),
    [
        (["500"], "~~500~~"),
        (["two ", "words "], "~~two words~~ "),
        (["a", "", "b"], "~~ab~~"),
        ([" "], " "),
        (["a\n\n", "b"], "~~a~~\n\n~~b~~"),
    ],
)
def test_struck_text_is_marked_without_the_blanks_around_it(texts: list[str], written: str) -> None:
    assert write_struck("".join(map(struck, texts)) + " ~~~~") == f"{written} ~~~~"


# Reported case A11.
@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("**K**essing Weir", "Kessing Weir"),
        ("built by **Hydro**tec", "built by Hydrotec"),
        ("un*believ*able and ***Ü***ber", "unbelievable and Über"),
        ("the **dan***oki*so, the *dan***oki** and `**a***b*`", "the danokiso, the danoki and `**a***b*`"),
        ("**one **two** *three*", "**one **two** *three*"),
        ("**one.***two*", "**one.***two*"),
        ("a **bold word** and *one*", "a **bold word** and *one*"),
        ("**Water**, then **air**.", "**Water**, then **air**."),
        ("a*b*c and 2*3*4", "a*b*c and 2*3*4"),
        ("2**10 = 1024 and 3**2 = 9", "2**10 = 1024 and 3**2 = 9"),
        ("f(2**8, 2**16), a**2 + b**2, 1**20**", "f(2**8, 2**16), a**2 + b**2, 1**20**"),
        ("`**x**y` and ``**K**essing``", "`**x**y` and ``**K**essing``"),
        ("```\n**K**essing\n```\n**K**essing", "```\n**K**essing\n```\nKessing"),
        (r"\*\*K\*\*essing", r"\*\*K\*\*essing"),
        ("Die Leser*innen und 450 Gäst*innen", "Die Leser*innen und 450 Gäst*innen"),
        ("Kolleg*innen/Freund*innen von **Hydro**tec", "Kolleg*innen/Freund*innen von Hydrotec"),
        ("*Für Leser*innen, *außen und Gäst*in", "*Für Leser*innen, *außen und Gäst*in"),
        ("Berl*in* und *Wasser*innenraum", "Berlin und Wasserinnenraum"),
    ],
)
def test_a_word_has_no_marks_inside(markdown: str, written: str) -> None:
    assert whole_words(markdown) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("A map of\nthe weir.", "A map of the weir."),
        (r"C:\Users\x\gauge.jpg", ""),
        ("image 1.png", ""),
        ("files/photo.jpeg", ""),
        ("See fig. 2", "See fig. 2"),
    ],
)
def test_an_alternative_text_is_none_if_it_names_a_file(text: str, written: str) -> None:
    assert alternative_text(text) == written


def test_a_check_box_is_written_as_in_markdown() -> None:
    assert (check_box(True), check_box(False)) == ("[x]", "[ ]")
