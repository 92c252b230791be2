from itertools import pairwise

import pytest

from lightrag_dagster.stages.chunking import boundaries


@pytest.mark.parametrize(
    "parts",
    [
        ["One. ", "Two! ", "Three?\n", "Four… ", "Five"],
        ['He said "No." ', "Then (so.) ", "He left."],
        ["Dr. Feld met A. Nair, e.g. at No. 5 or at 3.5 miles. ", "It rained."],
        ["no. not here but at the end. ", "Here."],
        ["漢字です。", "「はい。」", "次！", "です"],
        ["A title without a stop\n\n", "A paragraph. ", "More\n \n", "end"],
        ["One line\nof two. ", "Yes."],
        ["Ab 1. April 2021 galt es. ", "Am 3. Quartal lag es nicht. ", "Im Jahr 2021. ", "April war kalt."],
        ["Er zahlte 3,2 Mio. Euro an die Bahnhofstr. 5 nach Abs. 2 Nr. 3. ", "Z. B. Bonn. ", "Am 5. ", "Es blieb."],
        ["It was 12 Mrd. ", "The rest, e.g. Oslo, left at 3 a.m. ", "Nobody saw 5 %. ", "Sales fell by 3.5. ", "End"],
        ["What?! ", "Really... ", "Yes"],
    ],
)
def test_sentences(parts: list[str]) -> None:
    text = "".join(parts)
    edges = [0, *boundaries.sentences(text)(0, len(text)), len(text)]
    assert [text[left:right] for left, right in pairwise(edges)] == parts


def test_a_separator_stays_before_the_boundary_and_a_run_is_one() -> None:
    text = ",,a,b,,c,"
    assert boundaries.after(text, ",")(0, len(text)) == [2, 4, 7]
    assert boundaries.after(text, ",")(2, 7) == [4]


def test_a_word_starts_behind_white_space_within_the_part() -> None:
    text = " one two\n\n three "
    assert boundaries.words(text)(0, len(text)) == [1, 5, 11]
    assert boundaries.words(text)(5, len(text)) == [11]
    assert boundaries.words(text)(0, 11) == [1, 5]


def test_a_part_of_those_that_are_listed() -> None:
    assert boundaries.listed([1, 3, 5, 7])(3, 7) == [5]
    assert boundaries.outside(boundaries.listed([1, 3, 5, 7]), [(3, 6)])(0, 9) == [1, 7]
