import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lightrag_dagster.core.text.encodings import load_encoding
from lightrag_dagster.core.text.tokens import Tokenizer, load_tokenizer
from lightrag_dagster.core.text.white_space import MARK, marked

LOOKS_AHEAD = Tokenizer(load_encoding("o200k_base"))
SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("one two", "one two"),
        ("one  two", "one | two"),
        ("if x:\n        y", "if x:\n       | y"),
        ("a \t b", "a \t| b"),
        ("a\xa0 b", "a\xa0| b"),
        ("a\u3000\u3000漢", "a\u3000|\u3000漢"),
        ("a  \n\nb  ", "a  \n\nb  "),
        ("a\tb\u3000c", "a\tb\u3000c"),
        ("a\x1c\x1cb", "a\x1c\x1cb"),  # white space to Python, not to Unicode
    ],
)
def test_marks(text: str, expected: str) -> None:
    assert marked(text) == expected.replace("|", MARK)


@example(f"a  b{MARK}  c")
@given(st.one_of(st.text(st.sampled_from(f"{SPACES}aB9'.-é漢👍")), st.text(st.sampled_from(f"  \n{MARK}a")), st.text()))
def test_tokens_are_those_of_the_pattern_that_looks_ahead(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    assert load_tokenizer("o200k_base").encode(text).tolist() == LOOKS_AHEAD.encode(text).tolist()
