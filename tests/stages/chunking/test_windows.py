from typing import Any

import pytest

from tests.stages.chunking.documents import TOKENIZER, contents, cut


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("one\n\ntwo three\n\n\n\n four \n", {}, ["one", "two three", "four"]),
        ("a;b;;c", {"separators": (";", "b")}, ["a", "b", "c"]),
        ("a.b", {"separators": ("|",)}, ["a.b"]),
        ("one two three four\n\nfive", {"size": 2, "overlap": 0}, ["one two", "three four", "five"]),
        ("one two three\n\nfour", {"size": 3, "overlap": 0}, ["one two three", "four"]),
    ],
)
def test_a_chunk_a_part(text: str, settings: dict[str, Any], expected: list[str]) -> None:
    assert contents(text, method="character", **settings) == expected


@pytest.mark.parametrize(
    ("characters", "size", "overlap"), [(40_000, 1200, 100), (50_002, 800, 66), (100_000, 800, 66), (100_002, 600, 50)]
)
def test_long_documents_have_smaller_windows(characters: int, size: int, overlap: int) -> None:
    text = "a " * (characters // 2)
    expected = TOKENIZER.windows(text, size, overlap)
    assert [one[:3] for one in cut(text, method="adaptive")] == [tuple(one) for one in expected]
