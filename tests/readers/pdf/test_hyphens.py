"""Words divided at the end of a line; the mark is PDFium's."""

import pytest

from lightrag_dagster.readers.pdf.hyphens import with_whole_words

MARK = "\x02"


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([f"the read{MARK}\nings of noon"], ["the readings of noon"]),
        ([f"a well{MARK}\nknown weir", "It is well-known."], ["a well-known weir", "It is well-known."]),
        ([f"a Well{MARK}\r\nKnown weir", "It is well-known."], ["a Well-Known weir", "It is well-known."]),
        ([f"re{MARK}\nopened", "re-opened, reopened"], ["reopened", "re-opened, reopened"]),
        ([f"of the{MARK}\nart", "state-of-the-art"], ["of the-art", "state-of-the-art"]),
        (["a last one\ufffe"], ["a last one"]),
        ([f"two{MARK}\nfold and three{MARK}\nfold", "a two-fold one"], ["two-fold and threefold", "a two-fold one"]),
    ],
)
def test_a_compound_word_keeps_the_hyphen_that_it_has_elsewhere(texts: list[str], whole: list[str]) -> None:
    assert with_whole_words(texts) == whole
