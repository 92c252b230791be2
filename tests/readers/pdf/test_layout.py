import pytest

from lightrag_dagster.readers.pdf.layout import PlacedLine, text_of

LONG = "a line of a column of text"


def lines(*placed: tuple[str, float, float], height: float = 10) -> list[PlacedLine]:
    """Return lines from text, left and top; a character is 5 wide."""
    return [PlacedLine(text, left, top, left + 5 * len(text), top + height) for text, left, top in placed]


@pytest.mark.parametrize(
    ("placed", "text"),
    [
        ([], ""),
        ([("One", 0, 0)], "One"),
        ([("Two", 0, 12), ("One", 0, 0), ("Three", 0, 24)], "One\nTwo\nThree"),
        ([("One", 0, 0), ("Two", 0, 12), ("Three", 0, 30), ("Four", 0, 42)], "One\nTwo\n\nThree\nFour"),
        # A gap that is wider by less than a fifth of a line divides nothing.
        ([("One", 0, 0), ("Two", 0, 12), ("Three", 0, 25)], "One\nTwo\nThree"),
        # Loosely set lines are one paragraph too.
        ([("One", 0, 0), ("Two", 0, 25), ("Three", 0, 50)], "One\nTwo\nThree"),
        ([("1.42", 200, 2), ("Steinhag", 0, 0), ("Corley", 0, 12), ("0.97", 200, 13)], "Steinhag 1.42\nCorley 0.97"),
        ([("• Seal", 0, 0), ("2) Logger", 0, 12)], "- Seal\n2) Logger"),
        ([("the read-", 0, 0), ("ings of two", 0, 12)], "the readings of two"),
        ([("Über-", 0, 0), ("älter", 0, 12)], "Überälter"),
        ([("North-", 0, 0), ("East", 0, 12)], "North-\nEast"),
        ([("12-", 0, 0), ("fold", 0, 12)], "12-\nfold"),
    ],
)
def test_lines_become_paragraphs(placed: list[tuple[str, float, float]], text: str) -> None:
    assert text_of(lines(*placed)) == text
    in_inches = [PlacedLine(one.text, *(place / 72 for place in one[1:])) for one in lines(*placed)]
    assert text_of(in_inches) == text


def test_columns_are_read_one_after_the_other_under_what_stands_over_both() -> None:
    title = ("A title that stands over both columns of this page", 20, 0)
    left = [(f"{LONG} {number}", 0.0, 30 + 12.0 * number) for number in range(5)]
    right = [(f"{LONG} {number}", 200.0, 31 + 12.0 * (number - 5)) for number in range(5, 9)]
    note = ("A note that stands below both columns of this page", 20, 120)
    below = "\n".join(text for text, *_ in left) + "\n\n" + "\n".join(text for text, *_ in right)
    found = text_of(lines(note, *right, *left, title))
    assert found == f"{title[0]}\n\n{below}\n\n{note[0]}"


@pytest.mark.parametrize(("over_both", "beside", "are_columns"), [(17, 33, True), (18, 33, False)])
def test_at_most_a_third_of_the_lines_stands_over_both_columns(over_both: int, beside: int, are_columns: bool) -> None:
    above = [(f"{LONG}, and {LONG}", 10.0, 12.0 * number) for number in range(over_both)]
    below = [(LONG, 200.0 * (number % 2), 500 + 12.0 * (number // 2)) for number in range(beside)]
    found = text_of(lines(*above, *below))
    assert (f"{LONG} {LONG}" not in found) is are_columns


def test_three_columns() -> None:
    columns = [
        [(f"{LONG} {start + number}", 200.0 * start, 12.0 * number) for number in range(5)] for start in range(3)
    ]
    found = text_of(lines(*(line for column in columns for line in column)))
    assert found == "\n\n".join("\n".join(text for text, *_ in column) for column in columns)


def test_a_table_is_read_by_rows() -> None:
    cells = [(f"{name} {row}", left, 12.0 * row) for row in range(6) for name, left in (("Gauge", 0.0), ("1.4", 300.0))]
    assert text_of(lines(*cells)) == "\n".join(f"Gauge {row} 1.4 {row}" for row in range(6))
