"""The words of a file that its text lacks are counted, whatever their spelling, and the first ones are named."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.losses import LostWords, find_losses


@pytest.mark.parametrize(
    ("found", "read", "losses"),
    [
        ([], ["anything"], LostWords()),
        (["The weir opens."], ["the WEIR opens"], LostWords(3, 0)),
        (["Ein Pegel", "im Fluss"], ["Im Fluss ein Pegel"], LostWords(4, 0)),
        (["water water water"], ["water"], LostWords(3, 2, "water water")),
        (["Kessing Weir"], ["**K**essing Weir"], LostWords(2, 1, "kessing")),
        (["10 6 m²"], ["10^6 m2"], LostWords(4, 0)),
        (["Über\u00adfall", "ﬁsh", "Cafe\u0301"], ["Überfall fish Café"], LostWords(3, 0)),
        (["水位下降"], ["水位\n下降"], LostWords(4, 0)),
        (["Here i s some text"], ["Here is some text"], LostWords(5, 2, "i s")),
    ],
)
def test_the_words_that_a_text_lacks(found: list[str], read: list[str], losses: LostWords) -> None:
    assert find_losses(found, read) == losses


@given(st.lists(st.text(max_size=20), max_size=5))
def test_a_text_lacks_nothing_of_itself(texts: list[str]) -> None:
    assert find_losses(texts, [" ".join(texts)]).lost == find_losses(texts, texts).lost == 0


def test_a_file_whose_words_cannot_be_counted_says_so() -> None:
    """The reader does without a damaged drawing, whose texts nothing else would miss."""
    workbook, damaged = zipfile.ZipFile(Path(__file__).parent / "samples/figures.xlsx"), io.BytesIO()
    with zipfile.ZipFile(damaged, "w") as copy:
        for name in workbook.namelist():
            copy.writestr(name, b"<broken" if name == "xl/drawings/drawing1.xml" else workbook.read(name))
    found = extract_text(damaged.getvalue(), "levels.xlsx")
    assert "Steinhag" in found.text
    assert found.losses is None
    assert found.note == "whether words of it are lost could not be checked (UnreadableError)"
