from typing import Any

import pytest

from tests.stages.chunking.documents import contents


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
