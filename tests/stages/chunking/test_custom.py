import re
from collections.abc import Callable
from typing import Any

import pytest

from lightrag_dagster.errors import SettingsError, SourceError
from tests.stages.chunking.documents import contents, cut

Count = Callable[[str], int]


def by_clause(text: str, size: int, overlap: int, count_tokens: Count) -> list[tuple[int, int, str]]:
    """A function of a user: each line is a chunk, with the first as context."""
    assert (size, overlap, count_tokens("one two")) == (1200, 100, 2)
    return [(found.start(), found.end(), text.splitlines()[0]) for found in re.finditer(r"[^\n]*\n?", text)]


def ending(text: str, *_: Any) -> list[tuple[int, int]]:
    raise SystemExit(0)


def failing(text: str, *_: Any) -> list[tuple[int, int]]:
    raise RuntimeError(f"no idea\nhow to cut {text}")


def beyond(*_: Any) -> list[tuple[int, int]]:
    return [(0, 5), (3, 99)]


def nothing(*_: Any) -> list[tuple[int, int]]:
    return [(1, 2)]


def first_lines(text: str, *_: Any) -> list[tuple[int, int]]:
    return [(0, 9), (4, 12)]


def words(*_: Any) -> list[str]:
    return ["some", "words"]


def path(name: str) -> str:
    return f"{__name__}.{name}"


def test_a_function_cuts() -> None:
    text = "Title\n  one two \n\nthree"
    assert contents(text, method="custom", function=path("by_clause")) == ["Title", "one two", "three"]
    found = cut(text, method="custom", function=path("by_clause"))
    assert {one.context for one in found} == {"Title"}
    assert [one.tokens for one in found] == [1, 2, 1]


def test_text_that_is_in_no_chunk_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    assert contents("one two three\nfour five", method="custom", function=path("first_lines"))
    assert "first_lines left out 9 characters of s/a.md, which are in no chunk" in caplog.text


@pytest.mark.parametrize(
    ("function", "error", "reason"),
    [
        (path("ending"), SourceError, "ending failed on s/a.md: SystemExit: 0;"),
        (path("failing"), SourceError, "failing failed on s/a.md: RuntimeError: no idea how to cut a text;"),
        (path("beyond"), SourceError, "beyond returned (3, 99) for s/a.md, which is not a span of its 6 characters;"),
        (path("words"), SourceError, "words returned 'some' for s/a.md, which is not a span"),
        (path("nothing"), SourceError, "nothing left out 5 characters of s/a.md, which are in no chunk; correct it"),
        (path("missing"), SettingsError, "has no attribute 'missing'; give the dotted path"),
        (
            "no_such_module.cut",
            SettingsError,
            "cut: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("nothing", SettingsError, "chunking.function nothing: "),
        (path("Count"), SourceError, "failed on s/a.md"),
        (path("__name__"), SettingsError, "it is not a function"),
    ],
)
def test_an_error_names_the_function(function: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=re.escape(reason)):
        cut("a text", method="custom", function=function)
