"""What is drawn behind texts: a table has two columns or more."""

import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.pdf.pages import Shown, pdf

LINES = ["The movie opens with a report.", "Three officers are gone.", "The union blames the firm.", "So it goes."]


# Reported case E5.
@pytest.mark.parametrize("height", [12, 14, 16])
@pytest.mark.parametrize("paint", ["1 g", "0.9 g"])
def test_a_shaded_paragraph_is_no_table(paint: str, height: int) -> None:
    shown = [Shown(72, 700 - 14 * place, line) for place, line in enumerate(LINES)]
    boxes = "\n".join(f"{paint} 70 {697 - 14 * place} 300 {height} re f" for place in range(len(LINES)))
    assert extract_text(pdf(shown, drawn=f"{boxes} 0 g"), "a.pdf").text == "\n".join(LINES)


@pytest.mark.parametrize("width", [20, 4, 60])
def test_a_table_has_no_empty_columns(width: int) -> None:
    rows = [("Station", "Level"), ("Steinhag", "1.42"), ("Corley", "0.97")]
    shown = [Shown(75 + 120 * x, 700 - 20 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    places = (70, 190 - width, 190, 290)
    grid = [f"{x} 655 m {x} 715 l S" for x in places] + [f"70 {y} m 290 {y} l S" for y in (655, 675, 695, 715)]
    found = extract_text(pdf(shown, drawn="\n".join(grid)), "a.pdf").text
    assert found == "| Station | Level |\n| --- | --- |\n| Steinhag | 1.42 |\n| Corley | 0.97 |"


@pytest.mark.parametrize("shown", [["One", "Two", "Three"], ["A line of a box"]])
def test_a_grid_with_text_in_one_column_is_text(shown: list[str]) -> None:
    texts = [Shown(75, 700 - 20 * place, text) for place, text in enumerate(shown)]
    grid = [f"{x} 655 m {x} 715 l S" for x in (70, 190, 290)] + [f"70 {y} m 290 {y} l S" for y in (655, 675, 695, 715)]
    assert extract_text(pdf(texts, drawn="\n".join(grid)), "a.pdf").text == "\n".join(shown)


def test_boxes_behind_words_of_a_sentence_are_no_table() -> None:
    lines = ["Set level to high, or leave it", "Set limit to none, or omit it"]
    shown = [Shown(72, 700 - 14 * place, line) for place, line in enumerate(lines)]
    boxes = "\n".join(f"0.9 g {x} {697 - 14 * y} {wide} 14 re f" for y, x, wide in ((0, 72, 48), (1, 92, 42)))
    assert extract_text(pdf(shown, drawn=f"{boxes} 0 g"), "a.pdf").text == "\n".join(lines)
