import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.markdown import find_headings, find_title, heading_paths


def summary(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in find_headings(text)]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# One\n## Two ##\n###### Six", [(1, "One"), (2, "Two"), (6, "Six")]),
        ("#hashtag\n####### seven\n    # code\n   # three spaces", [(1, "three spaces")]),
        ("# C# and F#\r\ntext\r\n## Next\r\n", [(1, "C# and F#"), (2, "Next")]),
        ("#\n# #\n# ##x", [(1, ""), (1, ""), (1, "##x")]),
        ("```\n# code\n```\n# After", [(1, "After")]),
        ("```python\n# code\n~~~\n# code\n``` x\n# code\n````\n# After", [(1, "After")]),
        ("~~~ a`b\n# code\n~~~\n# After", [(1, "After")]),
        ("```inline``` code\n# Heading", [(1, "Heading")]),
        ("```\n# never closed", []),
        ("Title\n=====\n\nSub\n---\ntext", [(1, "Title"), (2, "Sub")]),
        ("text\n\n---\n\n- item\n---\n\n> quote\n---\n\n| a |\n---\n", []),
        ("two lines\nof text\n---\n", []),
        ("# **Bold** `code` [link](http://x.y) \\<tag>", [(1, "Bold** `code` link <tag>")]),
        ("---\ntitle: Front\n---\n# Body", [(1, "Body")]),
        ("---\ntitle: Front\n---", []),
        ("", []),
    ],
)
def test_headings(text: str, headings: list[tuple[int, str]]) -> None:
    assert summary(text) == headings


def test_a_path_leads_through_the_levels_above() -> None:
    text = "intro\n# Guide\n### Deep\n## Install\nx\n## Use\n# Other\n##\n### Last"
    assert heading_paths(text) == [
        (text.index("# Guide"), "Guide"),
        (text.index("### Deep"), "Guide > Deep"),
        (text.index("## Install"), "Guide > Install"),
        (text.index("## Use"), "Guide > Use"),
        (text.index("# Other"), "Other"),
        (text.index("##\n"), "Other"),
        (text.index("### Last"), "Other > Last"),
    ]


def test_a_setext_heading_is_in_force_from_its_title_line() -> None:
    assert heading_paths("text\n\nTitle\n---\nmore") == [(6, "Title")]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Sub\n# First\n# Second", "First"),
        ("# \n# Second", "Second"),
        ("no heading\n\n---\ntitle: not front matter\n---", None),
    ],
)
def test_title(text: str, title: str | None) -> None:
    assert find_title(text) == title


@given(st.text("#`~=- \n\rab>\\[]()", max_size=200))
def test_every_heading_starts_a_line(text: str) -> None:
    headings = find_headings(text)
    offsets = [heading.offset for heading in headings]
    assert offsets == sorted(set(offsets))
    assert all(offset == 0 or text[offset - 1] == "\n" for offset in offsets)
    assert all("\n" not in heading.text for heading in headings)


@pytest.mark.parametrize("line", ["# " + " " * 200_000 + "x", "#" * 200_000, "[" * 200_000, "# " + "[a](" * 50_000])
def test_hostile_lines_take_linear_time(line: str) -> None:
    started = time.process_time()
    find_headings(f"---\n{line}\n{line}\n")
    assert time.process_time() - started < 2
