from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.plain.text import read


def test_sequences_for_terminals_are_no_text() -> None:
    data = b"2024 \x1b[32mINFO\x1b[0m gauge \x1b]0;title\x07read\x1b(B \x1b[1;31mx\x1b[K\n"
    assert read(data).text == "2024 INFO gauge read x\n"
    assert read(b"\bN\bNA\bA\bAME of _\bu_\bs\n").text == "\bNAME of us\n"


def test_a_zero_between_words_is_a_space() -> None:
    assert read(b"The gauge\0of the weir\0was read each morning by Ida.").text == (
        "The gauge of the weir was read each morning by Ida."
    )


def test_a_title_has_no_marks_of_direction() -> None:
    assert extract_text(b"Text", "weirs/gate\u202etxt.exe.txt").title == "gatetxt.exe.txt"
