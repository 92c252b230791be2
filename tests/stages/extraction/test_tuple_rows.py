"""Which rows a line holds."""

import pytest

from lightrag_dagster.stages.extraction.delimiters import mark
from lightrag_dagster.stages.extraction.tuple_rows import read_rows, strength, undecorated


def rows(line: str) -> list[str]:
    return [" ¦ ".join(row) for row in ([kind, *fields] for kind, fields in read_rows(mark(line)))]


@pytest.mark.parametrize(
    "line",
    [
        "entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "  entity <|#|> Alice <|#|> person <|#|> An engineer.  ",
        "Entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "ENTITY<|#|>Alice<|#|>person<|#|>An engineer.",
        "- entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "* entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "• entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "1. entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "12) entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "(entity<|#|>Alice<|#|>person<|#|>An engineer.)",
        '"entity<|#|>Alice<|#|>person<|#|>An engineer."',
        "**entity**<|#|>Alice<|#|>person<|#|>An engineer.**",
        "`entity<|#|>Alice<|#|>person<|#|>An engineer.`",
        "```entity<|#|>Alice<|#|>person<|#|>An engineer.```",
        "| entity<|#|>Alice<|#|>person<|#|>An engineer. |",
        "> entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "### entity: <|#|>Alice<|#|>person<|#|>An engineer.",
        "Entity 1<|#|>Alice<|#|>person<|#|>An engineer.",
        "<|#|>entity<|#|>Alice<|#|>person<|#|>An engineer.",
        r"entity<|#|>Alice<|#|>person<|#|>An engineer.\n",
        "entity<|#|>Alice<|#|>person<|#|>An engineer.##",
        "[entity<|#|>Alice<|#|>person<|#|>An engineer.],",
        "\ufeffentity<|#|>Alice<|#|>person<|#|>An engineer.",
    ],
)
def test_a_decorated_row(line: str) -> None:
    assert rows(line) == ["entity ¦ Alice ¦ person ¦ An engineer."]


@pytest.mark.parametrize(
    "word", ["relation", "Relation", "RELATIONSHIP", "relationship", "relations", '("relationship"']
)
def test_every_word_for_a_relation(word: str) -> None:
    assert rows(f"{word}<|#|>A<|#|>B<|#|>k<|#|>d") == ["relation ¦ A ¦ B ¦ k ¦ d"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "entity",
        "Here are the entities:",
        "Alice<|#|>person<|#|>An engineer.",
        "note<|#|>Alice<|#|>person<|#|>An engineer.",
        "Correct: entity<|#|>Alice<|#|>person<|#|>An engineer.",
        "Alice<|#|>entity<|#|>Bob<|#|>person<|#|>An engineer.",
        "nonentity<|#|>Alice<|#|>person<|#|>An engineer.",
        "prerelationships<|#|>Alice<|#|>Bob<|#|>k<|#|>d",
        "Note: entities<|#|>Alice<|#|>person<|#|>An engineer.",
        "<|#|><|#|><|#|>",
    ],
)
def test_a_line_that_does_not_begin_like_a_row_is_prose(line: str) -> None:
    assert rows(line) == []


A, B = "entity ¦ A ¦ person ¦ One.", "entity ¦ B ¦ person ¦ Two."
LINK = "relation ¦ A ¦ B ¦ k ¦ Both."


@pytest.mark.parametrize("joint", ["<|#|>", " ", "##", r"\n", r"\r\n", r"\n\n- ", " ## ", "", ")(", ";", " - ", " | "])
def test_rows_on_one_line(joint: str) -> None:
    line = joint.join(
        [
            "entity<|#|>A<|#|>person<|#|>One.",
            "entity<|#|>B<|#|>person<|#|>Two.",
            "relation<|#|>A<|#|>B<|#|>k<|#|>Both.",
        ]
    )
    assert rows(line) == [A, B, LINK]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # fields that are a record word, or end in one
        ("entity<|#|>Entity<|#|>concept<|#|>A thing.", ["entity ¦ Entity ¦ concept ¦ A thing."]),
        ("entity<|#|>A<|#|>entity<|#|>One.", ["entity ¦ A ¦ entity ¦ One."]),
        ("entity<|#|>A<|#|>person<|#|>entity", ["entity ¦ A ¦ person ¦ entity"]),
        ("entity<|#|>Legal Entity<|#|>concept<|#|>One.", ["entity ¦ Legal Entity ¦ concept ¦ One."]),
        (
            "relation<|#|>Entity<|#|>Relation<|#|>relationship<|#|>d",
            ["relation ¦ Entity ¦ Relation ¦ relationship ¦ d"],
        ),
        ("relation<|#|>A<|#|>B<|#|>work relationship<|#|>d", ["relation ¦ A ¦ B ¦ work relationship ¦ d"]),
        (
            "entity<|#|>Entity<|#|>entity<|#|>One. entity<|#|>B<|#|>person<|#|>Two.",
            ["entity ¦ Entity ¦ entity ¦ One.", B],
        ),
        (
            "entity<|#|>A<|#|>person<|#|>One.<|#|>entity<|#|>Entity<|#|>concept<|#|>Two.",
            [A, "entity ¦ Entity ¦ concept ¦ Two."],
        ),
        # strengths and blanks after a whole row
        (
            'relation<|#|>A<|#|>B<|#|>d<|#|>family relationship<|#|>8)##("relation"<|#|>A<|#|>C<|#|>d<|#|>k<|#|>9)',
            ["relation ¦ A ¦ B ¦ d ¦ family relationship ¦ 8", "relation ¦ A ¦ C ¦ d ¦ k ¦ 9"],
        ),
        (
            "relation<|#|>A<|#|>B<|#|>d<|#|>blood relation<|#|>8 relation<|#|>A<|#|>C<|#|>d<|#|>k<|#|>9",
            ["relation ¦ A ¦ B ¦ d ¦ blood relation ¦ 8", "relation ¦ A ¦ C ¦ d ¦ k ¦ 9"],
        ),
        (
            "relation<|#|>A<|#|>B<|#|>k<|#|>Both. relation<|#|>1984<|#|>Orwell<|#|>k<|#|>d",
            [LINK, "relation ¦ 1984 ¦ Orwell ¦ k ¦ d"],
        ),
        ("entity<|#|>A<|#|>person<|#|>One.<|#|><|#|>entity<|#|>B<|#|>person<|#|>Two.", [f"{A} ¦ ", B]),
        # a row with a field missing does not cost the next one, nor borrow from it
        (
            "entity<|#|>A<|#|>person##entity<|#|>B<|#|>person<|#|>Two.",
            ["entity ¦ A ¦ person", B],
        ),
        ("relation<|#|>A<|#|>Legal Entity<|#|>d", ["relation ¦ A ¦ Legal Entity ¦ d"]),
    ],
)
def test_counting_tells_a_record_word_from_a_field(line: str, expected: list[str]) -> None:
    assert rows(line) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("Alice leads.", "Alice leads."),
        ("Alice (born 1990)", "Alice (born 1990)"),
        ("Alice (born 1990))", "Alice (born 1990)"),
        ('"Alice leads.")', '"Alice leads."'),
        ('Alice leads.")', "Alice leads."),
        ("Alice leads.**", "Alice leads."),
        ("Alice **leads**", "Alice **leads**"),
        ("Alice leads.`", "Alice leads."),
        ("Alice runs `ls`", "Alice runs `ls`"),
        ("Alice leads.```", "Alice leads."),
        ("Alice leads.) ##", "Alice leads."),
        ("Alice leads. |", "Alice leads."),
        (r"Alice leads.\n", "Alice leads."),
        (r"the gradient \nabla", r"the gradient \nabla"),
        ("written in C#", "written in C#"),
        ("f(x) = [0, 1]", "f(x) = [0, 1]"),
        ("One.) (", "One."),
        ("One. - ", "One."),
        ("well-known -", "well-known"),
        # A character reference of at most 34 characters keeps its semicolon.
        ("Tide &amp;", "Tide &amp;"),
        (f"Tide &{'a' * 32};", f"Tide &{'a' * 32};"),
        (f"Tide &#{'a' * 32};", f"Tide &#{'a' * 32}"),
        ("Tide;", "Tide"),
        ("", ""),
        (")", ""),
    ],
)
def test_what_closes_a_row_is_no_part_of_its_last_field(field: str, expected: str) -> None:
    assert undecorated(field) == expected


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "entity<|#|>",
            "<|#|>",
            "entity ",
            ") entity<|#|>",
            "##",
            ")",
            "* ",
            '`"',
            "0 ",
            "(|",
            "high ",
            "9/",
            "（",
            "& ",
        ),
        *("entity: ", "Entity name ", "entity=", "**", "&quot;", "&amp;", "x. ", "not ", ": ", "①"),
    ],
)
def test_long_repetitions_are_read(piece: str) -> None:
    repeated = piece * (100_000 // len(piece))
    assert rows(f"entity<|#|>A<|#|>person<|#|>{repeated}")[0].startswith("entity ¦ A ¦ person")
    assert rows(f"{repeated}<|#|>A<|#|>person<|#|>d") is not None
    assert strength(repeated) is None
