"""What is shown of a document is its text: nothing in it is a link, loads, or changes how it looks."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lightrag_dagster.core.text.safe_markdown import cell, escaped, markdown_table, without_links

VIEWER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PIECES = (
    *("![x](http://h/1.png)", "[a](b)", "[x]: http://h", "[x]", "[^1]:", "<img src=x>", "<b>", "<!--", "<http://h>"),
    *("http://h/a_b", "HTTPS://h", "www.h.org", "x@h.org", "//h.org", "# ", "- ", "+ ", "* ", "1. ", "2) ", "> "),
    *("|a|b|", "|-|-|", "--- | ---", "---", "===", ":-:", "***", "`c`", "```", "~~~", "~~s~~", "*e*", "__b__"),
    *("\\", "\\(", "&amp;", "&lt;", "&#60;", "    code", "\tcode", " ", "\n", "\n\n", "\r\n", "(", "]", "é", "$x$"),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)


def tokens(text: str) -> list[Token]:
    """Return blocks and what is in them."""
    return [one for block in VIEWER.parse(text) for one in (block, *(block.children or ()))]


def shown(text: str) -> str:
    """Return the text that a viewer shows, without the white space that it joins."""
    made = [one for one in tokens(text) if one.type != "inline"]
    return "".join(" " if one.type == "softbreak" else one.content for one in made)


def words(text: str) -> str:
    return re.sub(r"\s", "", text.replace("\0", "\ufffd"))


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Jonas Feld closed Station 14 (at night).", "Jonas Feld closed Station 14 (at night)."),
        ("![x](http://host/1.png)", r"!\[x\](http" + "\u200b://host/1" + r"\.png)"),
        ("# Gauges", r"\# Gauges"),
        ("1. one\n2) two\n- three\n+ four", "1\\. one\n2\\) two\n\\- three\n\\+ four"),
        ("a | b_c *d* `e` ~f~", r"a \| b\_c \*d\* &#96;e&#96; \~f\~"),
        ("<SEP> & C:\\x", r"&lt;SEP&gt; &amp; C:&#92;x"),
        ("    code", "&#32;   code"),
        ("incidents/2023/flood.md", r"incidents/2023/flood\.md"),
    ],
)
def test_plain_text(text: str, markdown: str) -> None:
    assert escaped(text) == markdown


@given(TEXTS)
@example("a\n===\nb")
@example("a | b\n--- | ---\nc | d")
@example("\r    x")
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    assert {one.type for one in tokens(escaped(text))} <= {
        *("paragraph_open", "paragraph_close", "inline", "text", "softbreak", "hardbreak")
    }
    assert words(shown(escaped(text))).replace("\u200b", "") == words(text).replace("\u200b", "")


@given(TEXTS)
def test_a_row_of_escaped_cells_is_a_row(text: str) -> None:
    cell = escaped(" ".join(text.split()))
    found = VIEWER.parse(f"| a | b |\n| --- | --- |\n| {cell} | c |")
    assert [one.content for one in found if one.type == "inline"][-1] == "c"
    assert sum(one.type == "td_open" for one in found) == 2


@given(TEXTS)
def test_nothing_links_or_loads(text: str) -> None:
    loading = {"link_open", "image", "html_inline", "html_block"}
    assert not loading & {one.type for one in tokens(without_links(text))}
    assert without_links(text).replace("\u200b", "") == text.replace("\u200b", "")
    for made in (escaped(text), without_links(text)):
        assert not re.search(r"\w://|www\.|\w@\w", made)  # which viewers link by themselves


def test_formatting_stays() -> None:
    text = "## Peaks\n\n- **Mill Reach** [1]: `x[0]`, *4.47 m*\n\n| a | b |\n|---|---|\n\n```\nif a[0] < b[1]: c\n```"
    assert without_links(text) == text


def test_a_table_has_a_heading_a_rule_and_its_rows() -> None:
    table = markdown_table(["mode", "recall"], [["local", "0.5 [0.4, 0.6]"], ["**all**", ""]])
    assert table.split("\n") == [
        "| mode | recall |",
        "| --- | --- |",
        "| local | 0.5 [0.4, 0.6] |",
        "| **all** |  |",
    ]
    assert markdown_table(["a", "b", "c"], []) == "| a | b | c |\n| --- | --- | --- |"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, "0"),
        ("a\n b", "a b"),
        ("a|b", r"a\|b"),
        ("12345678", "12345678"),
        ("123456789", "1234567…"),
        ("|" * 9, r"\|" * 7 + "…"),
    ],
)
def test_a_cell_shows_a_value_on_one_line(value: object, shown: str) -> None:
    assert cell(value, 8) == shown


def test_a_cell_is_whole_unless_a_length_is_given() -> None:
    assert cell("x" * 5000) == "x" * 5000
