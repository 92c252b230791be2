import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.tokens import Span, load_tokenizer

TOKENIZER = load_tokenizer("o200k_base")

# Ordinary words, and characters of several tokens or of several bytes in one token.
TEXTS = st.lists(
    st.sampled_from(["word ", "Donaudampfschiff", "\n\n", " ", "漢字", "👩‍👩‍👧", "𒀭", "é", "\t", "<|endoftext|>", "ﷺ"])
    | st.text(st.characters(codec="utf-8"), max_size=5),
    max_size=60,
).map("".join)


@st.composite
def windowing(draw: st.DrawFn) -> tuple[str, int, int]:
    size = draw(st.integers(1, 40))
    return draw(TEXTS), size, draw(st.integers(0, size - 1))


def text_of(tokens: int) -> str:
    text = " a" * tokens
    assert TOKENIZER.count(text) == tokens
    return text


@pytest.mark.long
def test_loading_is_fast_and_done_once() -> None:
    started = time.process_time()
    load_tokenizer.__wrapped__("o200k_base")
    assert time.process_time() - started < 1.5  # 0.4 s measured
    assert load_tokenizer("o200k_base") is TOKENIZER


@pytest.mark.parametrize(
    ("tokens", "windows"),
    [
        (1, [1]),
        (100, [100]),
        (1100, [1100]),
        (1200, [1200]),  # LightRAG: 1200 and 100
        (1201, [1200, 101]),
        (2300, [1200, 1200]),
        (2301, [1200, 1200, 101]),
    ],
)
def test_window_sizes(tokens: int, windows: list[int]) -> None:
    text = text_of(tokens)
    spans = TOKENIZER.windows(text, size=1200, overlap=100)
    assert [span.tokens for span in spans] == windows
    # Each token is two characters, and windows start every 1100 tokens, after the space.
    assert [span.char_start for span in spans] == [2200 * index + 1 for index in range(len(windows))]
    assert spans[-1].char_end == len(text)


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_no_window_without_text(text: str) -> None:
    assert TOKENIZER.windows(text, size=10, overlap=2) == []


def test_a_character_of_several_tokens_is_never_cut() -> None:
    text = "𒀭𒀭𒀭"
    assert TOKENIZER.count(text) > 6
    spans = TOKENIZER.windows(text, size=2, overlap=1)
    assert [text[span.char_start : span.char_end] for span in spans] == ["𒀭", "𒀭", "𒀭"]


def test_a_window_inside_its_successor_is_left_out() -> None:
    text = "one" + " \n" * 3 + "two three four"
    for size in range(2, 6):
        spans = TOKENIZER.windows(text, size=size, overlap=size - 1)
        assert len({span.char_start for span in spans}) == len(spans)
        assert len({span.char_end for span in spans}) == len(spans)


@given(windowing())
def test_windows(case: tuple[str, int, int]) -> None:
    text, size, overlap = case
    spans = TOKENIZER.windows(text, size, overlap)
    for span in spans:
        piece = text[span.char_start : span.char_end]
        assert piece
        assert piece == piece.strip()
        assert 1 <= span.tokens <= size
    for before, after in pairwise(spans):
        assert before.char_start < after.char_start
        assert before.char_end < after.char_end
        if overlap == 0:
            assert before.char_end <= after.char_start
    # Nothing but whitespace lies outside the windows.
    covered: set[int] = set()
    for span in spans:
        covered.update(range(span.char_start, span.char_end))
    assert all(character.isspace() for index, character in enumerate(text) if index not in covered)


@given(TEXTS, st.integers(1, 20))
def test_edges_are_where_decoding_puts_them(text: str, size: int) -> None:
    tokens = TOKENIZER.encode(text).tolist()
    starts = range(0, len(tokens), size)
    expected = [len(TOKENIZER._encoding.decode_bytes(tokens[:start]).decode("utf-8", "ignore")) for start in starts]
    bounds = [*expected, len(text)]
    pieces = [(left, right) for left, right in pairwise(bounds) if text[left:right].strip()]
    spans = TOKENIZER.windows(text, size, overlap=0)
    assert [text[span.char_start : span.char_end] for span in spans] == [text[a:b].strip() for a, b in pieces]
    assert all(
        left <= span.char_start and span.char_end <= right for span, (left, right) in zip(spans, pieces, strict=True)
    )


def test_special_tokens_are_ordinary_text() -> None:
    text = "before <|endoftext|> after"
    assert 199999 not in TOKENIZER.encode(text)
    assert TOKENIZER.windows(text, size=100, overlap=0) == [Span(0, len(text), TOKENIZER.count(text))]


@pytest.mark.long
@pytest.mark.parametrize(
    "character",
    [" ", pytest.param("a", marks=pytest.mark.long), *(pytest.param(one, marks=pytest.mark.long) for one in "\n^漢")],
)
def test_a_very_long_run_of_one_character_can_be_encoded(character: str) -> None:
    text = f"start{character * 1_200_000}end"
    tokens = TOKENIZER.encode(text)
    assert TOKENIZER._encoding.decode(tokens.tolist()) == text


def test_counts() -> None:
    assert TOKENIZER.counts(["", " a", " a a"]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "max_tokens", "start"),
    [("", 3, ""), (" a a a", 3, " a a a"), (" a a a", 2, " a a"), (" a a a", 0, ""), ("𒀭x", 1, "")],
)
def test_truncate(text: str, max_tokens: int, start: str) -> None:
    assert TOKENIZER.truncate(text, max_tokens) == start


@given(TEXTS, st.integers(0, 60))
def test_a_truncated_text_fits_and_is_a_start(text: str, max_tokens: int) -> None:
    start = TOKENIZER.truncate(text, max_tokens)
    assert text.startswith(start)
    assert TOKENIZER.count(start) <= max_tokens
    assert start == text or TOKENIZER.count(text) > max_tokens


@given(TEXTS, st.data())
def test_a_part_of_a_measured_text(text: str, data: st.DataObject) -> None:
    measured = TOKENIZER.measure(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert measured.count(0, len(text)) == TOKENIZER.count(text)
    assert (measured.count(start, end) > 0) == (start < end)
    assert measured.count(0, start) + measured.count(start, len(text)) >= TOKENIZER.count(text)
    back = measured.back(end, 3)
    assert 0 <= back <= end
    # A character of several tokens is not cut, and starts with the first of them.
    assert measured.positions([end])[0] - measured.positions([back + 1])[0] <= 3
