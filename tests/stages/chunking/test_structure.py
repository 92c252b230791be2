"""Where `structure` cuts, and what it carries."""

import time

import pytest

from tests.stages.chunking.documents import contents, cut, document, handbook

WORDS = "Some words that stand here to take up room in this part of it."  # 14 tokens


def test_a_short_document_is_one_chunk() -> None:
    assert contents(f"# A\n\n{WORDS}\n\n# B\n\n{WORDS}", method="structure") == [f"# A\n\n{WORDS}\n\n# B\n\n{WORDS}"]


def test_sections_are_packed_with_their_siblings_and_keep_their_headings() -> None:
    small = [f"## Part {number}\n\n{WORDS}" for number in range(3)]
    text = "\n\n".join(["# First", *small, "# Second", WORDS])
    assert contents(text, method="structure", size=70, overlap=0) == [
        "\n\n".join(["# First", *small]),
        f"# Second\n\n{WORDS}",
    ]
    assert contents(text, method="structure", size=50, overlap=0) == [
        f"# First\n\n{small[0]}",
        "\n\n".join(small[1:]),
        f"# Second\n\n{WORDS}",
    ]


def test_the_context_has_the_headings_that_the_chunk_does_not() -> None:
    text = f"# Guide\n\n{WORDS}\n\n## Install\n\n{WORDS}\n\n{WORDS} {WORDS}\n\n## Use\n\n{WORDS}"
    cuts = cut(text, method="structure", size=30, overlap=0)
    assert [(text[one.start : one.end][:9].strip(), one.context) for one in cuts] == [
        ("# Guide", None),
        ("## Instal", "Guide"),
        ("Some word", "Guide > Install"),
        ("## Use\n\nS", "Guide"),
    ]


ROWS = "\n".join(f"| station {number} | {number}{number} metres |" for number in range(20))
TABLE = f"| name | level |\n| --- | --- |\n{ROWS}"


def test_a_long_table_is_cut_between_rows_and_carries_its_header() -> None:
    text = f"# Levels\n\nAll of them:\n\n{TABLE}\n\n{WORDS}"
    cuts = cut(text, method="structure", size=80, overlap=0)
    found = [text[one.start : one.end] for one in cuts]
    assert "\n".join(found[:-1]).splitlines() == [*f"# Levels\n\nAll of them:\n\n{TABLE}".splitlines()]
    assert found[0].startswith("# Levels\n\nAll of them:\n\n| name | level |\n| --- | --- |\n| station 0")
    assert found[-1] == WORDS
    header = "Levels\n\n| name | level |\n| --- | --- |"
    assert [one.context for one in cuts] == [None, *[header] * (len(cuts) - 2), "Levels"]


def test_a_header_of_more_than_a_quarter_of_the_size_is_not_carried() -> None:
    cuts = cut(TABLE, method="structure", size=30, overlap=0)
    assert len(cuts) > 3
    assert {one.context for one in cuts} == {None}


def test_code_is_cut_at_blank_lines_then_at_lines() -> None:
    functions = [f"def function_{number}(value):\n    return value + {number}" for number in range(6)]
    text = "Before it.\n\n```python\n" + "\n\n".join(functions) + "\n```\n\nBehind it."
    found = contents(text, method="structure", size=45, overlap=0)
    assert found[0].startswith("Before it.\n\n```python\ndef function_0(value):\n")
    assert all(one.startswith("def function_") for one in found[1:])
    assert found[-1].endswith("\n```\n\nBehind it.")
    assert "return value + 1" in contents(text, method="structure", size=10, overlap=0)


def test_items_of_a_list_stay_whole() -> None:
    text = "\n".join(f"- {WORDS}\n  - also {number}" for number in range(6))
    found = contents(text, method="structure", size=45, overlap=0)
    assert "".join(found).count("- Some") == 6
    assert all(one.startswith("- Some") and one.count("- Some") == one.count("- also") <= 2 for one in found)


def test_pages_are_cut_before_paragraphs() -> None:
    pages = [f"{WORDS}\n\n{WORDS}", WORDS, f"{WORDS}\n\n{WORDS}"]
    text = "\n\n".join(pages)
    starts = (0, len(pages[0]) + 2, len(pages[0]) + len(pages[1]) + 4)
    given = document(text, markdown=False, pages=starts)
    assert contents(given, method="structure", size=32, overlap=0) == pages


@pytest.mark.parametrize("heading", ["# Title", "  ## Title ##", "Title\n=====", "Title\n-----"])
def test_a_heading_stays_with_what_follows_it(heading: str) -> None:
    text = f"{WORDS}\n\n{WORDS}\n\n{heading}\n\n\n{WORDS}\n\n{WORDS}"
    found = contents(text, method="structure", size=36, overlap=0)
    assert [one for one in found if "Title" in one] == [f"{heading.strip()}\n\n\n{WORDS}\n\n{WORDS}"]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "> " * 20_000,
            "- " * 20_000,
            f"{'| ' * 9_000}\n{'|-' * 9_000}|\n{'| x ' * 9_000}",
            "# a\n" * 5_000,
        ),
        *("```\n" * 20_000, "a\n" * 50_000, " " * 300_000 + "a", "[" * 50_000, "<div>" * 10_000, "#" * 300_000),
        handbook(100).replace("\n\n", "\r\n\r\n"),
    ],
    ids=range(11),
)
def test_odd_documents_take_seconds(text: str) -> None:
    started = time.process_time()
    cuts = cut(text, method="structure")
    assert cuts
    assert time.process_time() - started < 10
