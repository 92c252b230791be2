"""Tables and figures of Markdown."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lightrag_dagster.readers.elements import find_elements

TABLE = "| gauge | level |\n|---|---:|\n| 14 | 2.1 |\n| 15 | 2.4 |"


@pytest.mark.parametrize(
    ("text", "kind", "content", "caption"),
    [
        (TABLE, "table", TABLE, None),
        (f"Levels in March:\n\n{TABLE}\n\nText.", "table", TABLE, "Levels in March:"),
        (f"Levels in March:\n{TABLE}", "table", TABLE, "Levels in March:"),
        (f"# Levels\n\n{TABLE}\n", "table", TABLE, None),
        (f"Two lines\nof text.\n\n{TABLE}\n", "table", TABLE, None),
        (f"- a list\n\n{TABLE}\n", "table", TABLE, None),
        ("a | b\n--|--\n1 | 2\nend", "table", "a | b\n--|--\n1 | 2", None),
        ("|a|\n|-|\n|1|\r\n\r\nend", "table", "|a|\n|-|\n|1|\r", None),
        ("See ![The  weir](weir.png) there.", "figure", "![The  weir](weir.png)", "The weir"),
        ("![](weir_(old).png)", "figure", "![](weir_(old).png)", None),
    ],
)
def test_an_element_with_its_place_and_caption(text: str, kind: str, content: str, caption: str | None) -> None:
    (element,) = find_elements(text)
    assert (element.kind, text[element.start : element.end], element.caption) == (kind, content, caption)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n",
        "A title\n---\n\ntext | with a bar",
        "text with a bar |\n---\n",
        "|---|---|\n| 1 | 2 |",
        f"```\n{TABLE}\n![a](b)\n```",
        f"~~~~ text\n{TABLE}\n~~~\n{TABLE}\n~~~~",
        "[a link](weir.png)",
    ],
)
def test_no_element(text: str) -> None:
    assert find_elements(text) == []


@pytest.mark.long
def test_as_many_as_there_are() -> None:
    assert len(find_elements("a\n\n| a |\n|-|\n\n" * 50_000)) == 50_000


def test_several_in_order_and_an_image_in_a_table_is_part_of_it() -> None:
    text = f"![one](1.png)\n\n| ![zero](0.png) |\n|---|\n| ![two](2.png) |\n\n```\nx\n```\n{TABLE}\n![three](3.png)"
    assert [(one.kind, one.caption) for one in find_elements(text)] == [
        ("figure", "one"),
        ("table", None),
        ("table", None),
        ("figure", "three"),
    ]


@given(st.text(alphabet="|-: a\n`![]()#", max_size=200))
@example("a\n![x](y) |\n-|\n")
def test_elements_do_not_overlap(text: str) -> None:
    elements = find_elements(text)
    ends = [0, *(one.end for one in elements)]
    assert all(before <= one.start < one.end <= len(text) for before, one in zip(ends, elements, strict=False))


@pytest.mark.parametrize(
    "line", ["![" * 300_000, "![](" * 200_000, "-" + " " * 600_000 + "x", "|-" * 300_000 + "x", "|" * 600_000]
)
def test_a_hostile_line_takes_no_longer_than_another(line: str) -> None:
    assert find_elements(f"{line}\n{TABLE}")[-1].kind == "table"
