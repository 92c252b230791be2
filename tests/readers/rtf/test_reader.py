"""Rich Text Format that is written here; `test_samples.py` reads that of programs."""

import pytest

from lightrag_dagster.readers.rtf.reader import read


def text_of(body: str) -> str:
    text = read(f"{{\\rtf1\\ansi {body}}}".encode("ascii")).text
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("named", "used", "marks"),
    [(1, 1, "# "), (6, 6, "###### "), (7, 7, "###### "), (2, 3, "")],
    ids=["first level", "last level", "levels below the last", "another style"],
)
def test_a_paragraph_in_the_style_of_a_heading_is_one(named: int, used: int, marks: str) -> None:
    styles = f"{{\\stylesheet{{\\s0 Normal;}}{{\\s{named} heading {named};}}}}"
    assert text_of(f"{styles}\\pard\\s{used} Visits\\par\\pard\\s0 The gauge.") == f"{marks}Visits\n\nThe gauge."


@pytest.mark.parametrize(
    ("length", "left"),
    [(0, "0123456789"), (3, "3456789"), (8, "89"), (9, "89"), (-1, "0123456789")],
)
def test_what_stands_for_a_character_is_left_out_up_to_eight_others(length: int, left: str) -> None:
    assert text_of(f"\\uc{length} 5 \\u8364 0123456789") == f"5 €{left}"
