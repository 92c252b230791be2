from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.stages.chunking.methods import METHODS
from tests.stages.chunking.documents import TEXTS, TOKENIZER, cut, document, handbook, prose


def halves(text: str, size: int, overlap: int, count_tokens: Any) -> list[tuple[int, int]]:
    """A function of a user: halves of the text until they fit."""

    def cut_in_two(start: int, end: int) -> list[tuple[int, int]]:
        if end - start < 2 or count_tokens(text[start:end]) <= size:
            return [(start, end)]
        middle = (start + end) // 2
        return [*cut_in_two(start, middle), *cut_in_two(middle, end)]

    return cut_in_two(0, len(text))


def letters(texts: Any) -> Vectors:
    """Embed texts by the numbers of a few letters in them."""
    counts = np.array([[text.count(letter) + 0.1 for letter in "aeiont。 "] for text in texts], np.float32)
    vectors: Vectors = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return vectors


VARIANTS: list[dict[str, Any]] = [
    {"method": "token"},
    {"method": "character"},
    {"method": "character", "separators": (" ",)},
    {"method": "recursive"},
    {"method": "recursive", "overlap": 0, "separators": ("\n", "")},
    {"method": "structure"},
    {"method": "sentence"},
    {"method": "semantic"},
    {"method": "semantic", "breakpoints": ("standard_deviation", 1.0)},
    {"method": "semantic", "breakpoints": ("interquartile", 1.5)},
    {"method": "semantic", "breakpoints": ("gradient", 70.0)},
    {"method": "adaptive"},
    {"method": "custom", "function": f"{__name__}.halves"},
]
# A cut inside a word or a run of marks can take a token or two more than were counted in the document.
MORE_TOKENS = 4


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@given(text=TEXTS, markdown=st.booleans(), size=st.integers(8, 40), data=st.data())
def test_chunks_are_spans_that_cover_the_text_and_fit(
    variant: dict[str, Any], text: str, markdown: bool, size: int, data: st.DataObject
) -> None:
    pages = tuple(sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=3))))
    given_document = document(text, markdown=markdown, pages=pages)
    settings = {"size": size, "overlap": 2} | variant
    cuts = cut(given_document, letters, **settings)
    assert cuts == cut(given_document, letters, **settings)
    covered = np.zeros(len(text), np.bool_)
    before = (-1, -1)
    for one in cuts:
        content = text[one.start : one.end]
        assert content
        assert content == content.strip()
        assert before[0] < one.start
        assert before[1] < one.end
        assert len(content) == 1 or one.tokens <= size + 1
        assert len(content) <= 2 or TOKENIZER.count(content) <= size + MORE_TOKENS
        covered[one.start : one.end] = True
        before = one[:2]
    separator = variant.get("separators", ("\n\n",))[0] if variant["method"] == "character" else ""
    assert all(one.isspace() or one in separator for at, one in enumerate(text) if not covered[at])
    assert bool(cuts) == bool(text.strip())


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("text", ["", " ", "\n\n \t\r\n"])
def test_a_blank_text_has_no_chunks(variant: dict[str, Any], text: str) -> None:
    assert cut(text, letters, **variant) == []


def test_every_method_is_there() -> None:
    assert set(METHODS) == {variant["method"] for variant in VARIANTS}


def ids(text: str, variant: dict[str, Any]) -> set[tuple[str, str | None]]:
    return {(text[one.start : one.end], one.context) for one in cut(text, **variant)}


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param({"method": "structure"}, marks=pytest.mark.long),
        pytest.param({"method": "recursive"}, marks=pytest.mark.long),
        {"method": "sentence"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "edit", ["inserted", *(pytest.param(edit, marks=pytest.mark.long) for edit in ("changed", "removed"))]
)
def test_an_edit_near_the_start_leaves_nearly_all_chunks(variant: dict[str, Any], edit: str) -> None:
    settings = {"size": 120, "overlap": 0} | variant
    parts = handbook(60).split("\n\n") if variant["method"] == "structure" else prose(250)
    kept = []
    for place in (7, 33, 58):
        edited = list(parts)
        edited[place : place + (edit != "inserted")] = [] if edit == "removed" else ["Something else is said here."]
        before, after = (ids("\n\n".join(one), settings) for one in (parts, edited))
        kept.append(len(before & after) / len(before))
    assert len(before) > 100
    assert min(kept) > 0.9
