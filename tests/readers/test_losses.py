"""The words of a file that its text lacks are counted, whatever their spelling, and the first ones are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.losses import Losses, find_losses


@pytest.mark.parametrize(
    ("found", "read", "losses"),
    [
        ([], ["anything"], Losses()),
        (["The weir opens."], ["the WEIR opens"], Losses(3, 0)),
        (["Ein Pegel", "im Fluss"], ["Im Fluss ein Pegel"], Losses(4, 0)),
        (["water water water"], ["water"], Losses(3, 2, "water water")),
        (["Kessing Weir"], ["**K**essing Weir"], Losses(2, 1, "kessing")),
        (["10 6 m²"], ["10^6 m2"], Losses(4, 0)),
        (["Über\u00adfall", "ﬁsh", "Cafe\u0301"], ["Überfall fish Café"], Losses(3, 0)),
        (["水位下降"], ["水位\n下降"], Losses(4, 0)),
        (["Here i s some text"], ["Here is some text"], Losses(5, 2, "i s")),
    ],
)
def test_the_words_that_a_text_lacks(found: list[str], read: list[str], losses: Losses) -> None:
    assert find_losses(found, read) == losses


@given(st.lists(st.text(max_size=20), max_size=5))
def test_a_text_lacks_nothing_of_itself(texts: list[str]) -> None:
    assert find_losses(texts, [" ".join(texts)]).lost == find_losses(texts, texts).lost == 0
