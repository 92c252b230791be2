"""Damaged delimiters and markers, written `¦` and `■` once they are marked."""

import pytest

from lightrag_dagster.stages.extraction.delimiters import END, FIELD, mark


def marked(text: str) -> str:
    return mark(text).replace(FIELD, "¦").replace(END, "■")


@pytest.mark.parametrize(
    "delimiter",
    [
        "<|#|>",
        # core doubled, escaped or spaced
        *("<|##|>", "<|#||#|>", "<|#|||#|>", r"<|\#|>", r"<\|#\|>", "<| # |>", "< |#| >"),
        # core missing, glued
        *("<|>", "<||>", "<|||>"),
        # one stray character outside the pipes
        *("<X|#|>", "<|#|X>", "<X|#|Y>", "<||#||>", "<<|#|>", "<|#|>>"),
        # pipes missing or replaced
        *("<#>", "<#|>", "<|#>", "<||#>", "<X#|>", "<|#X>"),
        # an end missing
        *("<|#|", "<|#||", "<|#:", "<||", "|#|>"),
        # a pipe too many, or pipes instead of brackets
        *("<|#|>|", "||#||"),
    ],
)
def test_a_damaged_delimiter_is_repaired(delimiter: str) -> None:
    assert marked(f"entity{delimiter}Alice") == "entity¦Alice"


@pytest.mark.parametrize(
    "text",
    [
        "entity<|#Alice",
        "Alice<|location|>Paris",
        "a <|> b",
        "a <|| b",
        "if a < b || c > d",
        "x | y # z",
        "C# <T>",
        "| cell | cell |",
    ],
)
def test_text_is_not_repaired(text: str) -> None:
    assert marked(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<|#|><|#|>b", "a¦¦b"),
        ("a<|><|>b", "a¦¦b"),
        ("a<|><|#|>b", "a¦¦b"),
        ("a<|#|>|#|>b", "a¦¦b"),
        ("a<|#|>>90% of b", "a¦>90% of b"),
        ("a<|#|>\nb", "a¦\nb"),
        ("a<|#\n>b", "a<|#\n>b"),
    ],
)
def test_neighbouring_delimiters(text: str, expected: str) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize(
    "marker",
    [
        *("<|COMPLETE|>", "<|complete|>", "<|Complete|>", "<|COMPLETED|>"),
        *("<|COMPLETE", "<|COMPLETE|", "<|COMPLETE>", "|COMPLETE|>", "<COMPLETE|>", "<COMPLETE>", "||COMPLETE||>"),
        *("<||COMPLETE||>", "<| COMPLETE |>", r"<\|COMPLETE\|>"),
    ],
)
def test_a_marker_in_any_form(marker: str) -> None:
    assert marked(f"Alice leads.\n{marker}\n") == "Alice leads.\n■\n"
    assert marked(f"Alice leads.{marker}") == "Alice leads.■"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice leads <|COMPLETE|>", "Alice leads ■"),
        ("Alice leads <|COMPLETE|> ", "Alice leads ■ "),
        ("Alice leads.<|COMPLETE|>entity<|#|>B", "Alice leads.■entity¦B"),
        ("Alice leads <|COMPLETE|> - entity<|#|>B", "Alice leads ■ - entity¦B"),
        ("Alice leads.<|COMPLETE|> I hope this helps!", "Alice leads.■ I hope this helps!"),
        ("Alice leads. <|COMPLETE|> I hope this helps!", "Alice leads. ■ I hope this helps!"),
        ("**<|COMPLETE|>**", "**■**"),
        ("Alice leads <\n<|COMPLETE|>", "Alice leads <\n■"),
        ("`<|COMPLETE|>`", "`■`"),
        ("It ends with the <|COMPLETE|> token on its own line.", None),
        ("It writes `<|COMPLETE|>` last.", None),
        ('It writes "<|COMPLETE|>"', None),
        ("它以<|COMPLETE|>结束", None),
        ("| complete | yes |", None),
        ("The work is complete.", None),
        ("The status is <complete>", None),
    ],
)
def test_a_marker_in_a_sentence_is_quoted(text: str, expected: str | None) -> None:
    assert marked(text) == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\nc", "a\nb\nc"),
        ("a\rb", "a\rb"),
        ("a\rentity<|#|>b\rc", "a\nentity¦b\nc"),
        ("a\u2028- the relation: <|#|>b", "a\n- the relation: ¦b"),
        ("a\x85entity of b", "a\x85entity of b"),
        ("a\vb\fentity<|#|>c", "ab\nentity¦c"),
        ("a\r", "a\n"),
        (r"a\nb", r"a\nb"),
        (r"a\nb\nentity<|#|>\nu\r\nC", "a\\nb\nentity¦\\nu\nC"),
    ],
)
def test_line_breaks_before_rows_become_line_feeds(text: str, expected: str) -> None:
    assert marked(text) == expected


def test_control_characters_of_the_answer_mark_nothing() -> None:
    assert marked(f"a{FIELD}b{END}c\x00\u200b") == "abc"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<|",
            "|",
            "<",
            "<|#",
            "#",
            "<|COMPLETE",
            " <|COMPLETE|> x",
            "||#",
            "<|#|>",
            "＜",
            "＜｜",
            "｜＃",
            "complete",
            "&",
        ),
        *(
            "&lt;",
            "&amp;",
            "&lt;|",
            "&#124;",
            "\r",
            "\r- ",
            "\ra b c d",
            "\rentity",
            "\u2028 ",
            "\v",
            "\\n",
            "\\nentity",
        ),
        *("\\r\\n", "\x00", "\u200d", "\u200b", "👩\u200d"),
    ],
)
def test_long_repetitions_are_marked(piece: str) -> None:
    repeated = piece * (100_000 // len(piece))
    assert mark(f"entity<|#|>{repeated}\nentity<|#|>B").endswith(f"entity{FIELD}B")
