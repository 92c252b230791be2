"""The numbers of items, in pages and in chapters of books."""

import pytest

from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.html.page import read


@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [
        ("", ["1.", "2."]),
        ("start=4", ["4.", "5."]),
        ("start=2 reversed", ["2.", "1."]),
        ("reversed", ["2.", "1."]),
        ("type=a", ["a.", "b."]),
        ("type=A start=26", ["Z.", "AA."]),
        ("type=i start=3", ["iii.", "iv."]),
        ("style='margin: 0; list-style: upper-roman'", ["I.", "II."]),
        ("style='list-style-type:lower-latin'", ["a.", "b."]),
        ("class='upperroman simple'", ["I.", "II."]),
        ("start=x type=square", ["1.", "2."]),
    ],
)
def test_items_have_the_numbers_that_a_page_shows(attributes: str, numbers: list[str]) -> None:
    page = f"<body><ol {attributes}><li>A weir is a wall.</li><li>A lock is a door.</li></ol>"
    text = "\n".join(
        f"{one} {said}" for one, said in zip(numbers, ("A weir is a wall.", "A lock is a door."), strict=True)
    )
    assert read(page.encode()).text == text
    assert to_markdown(page).strip() == text


def test_an_item_can_say_its_number() -> None:
    page = "<ol><li>A weir is a wall.</li><li value=7>A lock is a door.</li></ol>"
    assert to_markdown(page).strip() == read(page.encode()).text == "1. A weir is a wall.\n7. A lock is a door."
