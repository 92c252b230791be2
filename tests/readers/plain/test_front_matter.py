import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.readers.content import Properties, make_properties, parse_day, parse_language
from lightrag_dagster.readers.plain.front_matter import split_front_matter


def unread(day: str) -> str:
    return f"its date {day!r} is left out: write a day, such as 2024-03-05"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            "title: Survey\nauthor: Ida Wren\ndate: 2025-03-04\ntags: [gauges, rivers]\nlang: en-GB",
            Properties("Survey", "Ida Wren", date(2025, 3, 4), ("gauges", "rivers"), "en"),
        ),
        (
            "Title: 'A: b'\nauthors:\n- name: Ida\n- Per\ndate: 2025-03-04T05:06:07+01:00\n"
            "keywords: a, b\ncategories: [b, c]",
            Properties("A: b", "Ida, Per", date(2025, 3, 4), ("a", "b", "c")),
        ),
        # Not YAML, for the second colon and the day that is none.
        (
            "title: Survey: the gauges\ndate: 2025-02-30\nlanguage: de",
            Properties("Survey: the gauges", language="de", date_note=unread("2025-02-30")),
        ),
        (
            "tags: [Smith, 'Jones, Ida']\ncategories: mills; rivers",
            Properties(tags=("Smith", "Jones, Ida", "mills", "rivers")),
        ),
        ("title: 2025\ntags: 7", Properties("2025", tags=("7",))),
        ("title: [a]\nauthor: {x: y}\ndate: soon\ntags: {a: b}\nlang: 7", Properties(date_note=unread("soon"))),
        ("created: 2025-03-04\nupdated: 2025-05-06", Properties(date=date(2025, 3, 4))),
        ("draft: true", Properties(switched_off="draft: true")),
        ("published: false", Properties(switched_off="published: false")),
        ("draft: 'True'", Properties(switched_off="draft: true")),
        ("draft: false\npublished: 2025-03-04", Properties()),
        ("layout: page", Properties()),
    ],
)
@pytest.mark.parametrize("end", ["---", "..."])
def test_front_matter(block: str, expected: Properties, end: str) -> None:
    assert split_front_matter(f"---\n{block}\n{end}\n# Text\n") == (expected, "\n# Text\n")
    windows = f"\ufeff---\n{block}\n{end}\n# Text\n".replace("\n", "\r\n")
    assert split_front_matter(windows)[0] == expected


# Reported case G5.
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ('title = "Gauge"\ndate = 2024-03-05\ndraft = false', Properties("Gauge", date=date(2024, 3, 5))),
        (
            "Title = 'A: \"b\"'\nauthors = ['Ida', 'Per']\ndate = 2025-03-04T05:06:07+01:00\n"
            'categories = [\n  "a",\n  "b",\n]\nlanguage = "de"\n[params]\nweight = 7',
            Properties('A: "b"', "Ida, Per", date(2025, 3, 4), ("a", "b"), "de"),
        ),
        ('draft = true\n[taxonomies]\ntags = ["a"]', Properties(tags=("a",), switched_off="draft: true")),
        ('[author]\nname = "Ida Wren"', Properties(author="Ida Wren")),
        # Not TOML, for the text without quotes.
        ('title = "Gauge"\nlang = en\nweight', Properties("Gauge", language="en")),
    ],
)
def test_front_matter_in_toml(block: str, expected: Properties) -> None:
    assert split_front_matter(f"+++\n{block}\n+++\n# Text\n") == (expected, "\n# Text\n")
    windows = f"\ufeff+++\n{block}\n+++\n# Text\n".replace("\n", "\r\n")
    assert split_front_matter(windows)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "+++\nA text between two rules.\n+++\nmore",
        "+++\n+++\n",
        "+++\nnever = 'closed'",
        "+++ added\na = 1\n+++",
        "---\nA text between two rules.\n---\nmore",
        "---\n- a\n---\n",
        "---\n\n---\n",
        "---\nnever: closed",
        "text\n---\na: b\n---",
        "---\n\nContract: between Ida and the town.\nPrice: 500 euros\n\n---\n\nRest of it.",
        "---\nAuthor: Ida Berg\n\n> The bridge was closed.\n\nShe lived in Ulm.\n\n---\nNext item",
        "---\nDate: 2020-01-01\n\nPresent: Ida\n---\nNext item",
        "---\nSummary: the bridge was closed\n---\nNext item",
        "---\nContract: between Ida and the town.\nPrice: 500 euros\n---\n\nRest of it.",
        "---\r\nContract: between Ida and the town.\r\n---\r\ntitle: Rest of it.\r\n---",
    ],
)
def test_what_is_no_front_matter_stays(text: str) -> None:
    assert split_front_matter(text) == (Properties(), text)


@pytest.mark.parametrize(
    "block",
    [
        "\ntitle: Secret\ndraft: true",
        "\r\ntitle: Secret\r\ndraft: true\r",
        " title: Secret\n draft: true",
        "{title: Secret, draft: true}",
        '{"title": "Secret",\n "draft": true}',
        "ID: 5\ntitle: Secret\ndraft: true",
        "Title: Secret\nDraft: true",
        "# of Jekyll\ntags:\n- a\ntitle: Secret\nsummary: |\n  Text: x\n\n  More\ndraft: true",
    ],
)
def test_every_form_of_front_matter_is_taken(block: str) -> None:
    properties, rest = split_front_matter(f"---\n{block}\n---\nRest of it.")
    assert (properties.title, properties.switched_off, rest) == ("Secret", "draft: true", "\nRest of it.")


@pytest.mark.parametrize("key", ["sidebar_position", "cssclasses", "marp", "redirect_from", "название", "Автор"])
def test_keys_of_other_programs_are_no_text(key: str) -> None:
    assert split_front_matter(f"---\n{key}: 2\n---\nRest of it.") == (Properties(), "\nRest of it.")


@pytest.mark.parametrize(
    "nested",
    [
        pytest.param("[" * 60_000, marks=pytest.mark.long),
        "- " * 30_000,
        "[" * 3_900,
        "- " * 1_900,
        "{a: " * 900,
        "&a [*a, *a] " * 300,
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_nested_block_does_no_harm(nested: str) -> None:
    started = time.process_time()
    assert split_front_matter(f"---\ntitle: {nested}\n---\ntext")[1] == "\ntext"
    assert split_front_matter(f"+++\ntitle = {nested}\n+++\ntext")[1] == "\ntext"
    assert time.process_time() - started < 10


@given(st.text("ab:-[]{}&*!|>'\"\n #", max_size=60))
def test_any_block_is_front_matter_or_text(block: str) -> None:
    text = f"---\n{block}\n---\nrest"
    _, rest = split_front_matter(text)
    assert rest in (text, "\nrest") or text.endswith(rest)


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2025-03-04", date(2025, 3, 4)),
        ("D:20250304050607+01'00'", date(2025, 3, 4)),
        (" 20250304", date(2025, 3, 4)),
        (date(2025, 3, 4), date(2025, 3, 4)),
        ("2025-13-01", None),
        ("0000-01-01", None),
        ("2025", None),
        ("D:", None),
        (None, None),
        (2025, None),
    ],
)
def test_days(value: object, day: date | None) -> None:
    assert parse_day(value) == day


@pytest.mark.parametrize(
    ("value", "language"),
    [
        ("en-GB", "en"),
        ("de_DE.UTF-8", "de"),
        ("DE", "de"),
        ("gsw", "gsw"),
        ("und", None),
        ("English", None),
        ("", None),
    ],
)
def test_languages(value: str, language: str | None) -> None:
    assert parse_language(value) == language


def test_values_are_cleaned() -> None:
    made = make_properties(" A\x00 &amp;\n b ", ["x\ud800", None, " "], None, "a; b,a;;c\nd", None)
    assert made == Properties("A & b", "x", None, ("a", "b", "c d"))
    assert make_properties("(anonymous)", "Untitled", True) == Properties()


@pytest.mark.parametrize(
    "said",
    [
        *("PowerPoint Presentation", "PowerPoint-Präsentation", "Présentation PowerPoint", "Microsoft Office User"),
        *("Presentación de PowerPoint", "Presentazione standard di PowerPoint", "Apresentação do PowerPoint"),
        *(
            "PowerPoint プレゼンテーション",
            "PowerPoint 演示文稿",
            "Презентация PowerPoint",
            "Prezentacja programu PowerPoint",
        ),
        *("Windows User", "Windows-Benutzer", "Utilisateur Windows", "Usuario de Windows", "python-docx", "Unknown"),
    ],
)
def test_what_programs_write_where_an_author_wrote_nothing_is_left_out(said: str) -> None:
    assert make_properties(said, said) == Properties()


@pytest.mark.parametrize(
    "said", ["PowerPoint", "Windows", "PowerPoint presentation of the weirs", "User", "Unknown land"]
)
def test_titles_like_those_of_programs_stay(said: str) -> None:
    assert make_properties(said, said) == Properties(said, said)
