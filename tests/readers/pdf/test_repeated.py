"""Headers and footers are left out and counted; what only looks like one stays."""

from collections.abc import Callable

import pytest

from lightrag_dagster.readers.content import ReadingOptions
from lightrag_dagster.readers.extraction import extract_text
from tests.readers.pdf.pages import Shown, pdf


def pages(count: int, *repeated: Callable[[int], Shown]) -> bytes:
    """Return pages with a sentence of their own, and lines by the number of the page."""
    words = ["weir", "gauge", "lock", "dam", "mill", "pond", "bridge", "ford"]
    body = [[Shown(72, 500, f"The {words[number]} is {number * number} years old.")] for number in range(count)]
    return pdf(*([*shown, *(one(number + 1) for one in repeated)] for number, shown in enumerate(body)))


ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi")


# Reported case E9.
@pytest.mark.parametrize(
    "line",
    [
        lambda page: Shown(72, 800, "Basin Authority - Confidential Rev. 3"),
        lambda page: Shown(72, 30, f"Page {page} of 6"),
        lambda page: Shown(280, 30, str(page)),
        lambda page: Shown(72, 30, f"Printed on 1/27/2021 - {page + 10}"),
        lambda page: Shown(72, 800, "The left header" if page % 2 else "The right header"),
        lambda page: Shown(280, 30, ROMAN[page]),
        lambda page: Shown(280, 30, f"Page {ROMAN[page].upper()} of VI"),
        lambda page: Shown(280, 30, ROMAN[page] if page < 3 else str(page - 2)),
    ],
)
def test_lines_that_repeat_are_left_out(line: Callable[[int], Shown]) -> None:
    found = extract_text(pages(6, line), "a.pdf")
    assert found.text.count("\n\n") == 5
    assert all(one.endswith("years old.") for one in found.text.split("\n\n"))
    assert found.note == "6 lines of headers and footers are left out; documents.keep_repeated_lines keeps them"
    assert found.losses is not None
    assert found.losses.lost == 0
    kept = extract_text(pages(6, line), "a.pdf", ReadingOptions(keep_repeated_lines=True))
    assert (kept.note, line(1).text in kept.text) == (None, True)


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (2, lambda page: Shown(72, 800, "Basin Authority")),
        (6, lambda page: Shown(72, 400, "All is well.")),
        (6, lambda page: Shown(72, 800, f"Gauge {page * page} is well.")),
        (6, lambda page: Shown(72, 800 - 10 * page, "Basin Authority")),
        (6, lambda page: Shown(72, 800, "Basin Authority" if page < 3 else f"Part {'abcdef'[page - 1]}")),
        (6, lambda page: Shown(72, 800, f"Part {('I', 'IX', 'L', 'X', 'XX', 'C')[page - 1]} is well.")),
    ],
    ids=["two pages", "in the middle", "other numbers", "other places", "few pages", "other numerals"],
)
def test_what_does_not_repeat_stays(count: int, line: Callable[[int], Shown]) -> None:
    found = extract_text(pages(count, line), "a.pdf")
    assert found.note is None
    assert all(line(page + 1).text in found.text for page in range(count))


def test_lines_of_odd_pages_are_left_out() -> None:
    data = pages(8, lambda page: Shown(72, 800, "Basin Authority" if page % 2 else f"Weirs of {page * page} towns"))
    assert extract_text(data, "a.pdf").text.count("Basin") == 0
    assert extract_text(data, "a.pdf").text.count("towns") == 4


def test_pages_of_nothing_else_keep_their_lines() -> None:
    assert extract_text(pdf(*[[Shown(72, 800, "Blank")]] * 4), "a.pdf").text.count("Blank") == 4
