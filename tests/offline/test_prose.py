import pytest

from lightrag_dagster.offline.prose import Sentence, plain, sentences


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("**bold** and *italic* and __both__ and _one_", "bold and italic and both and one"),
        ("see [the guide](https://example.org/a) now", "see the guide now"),
        ("see ![logo](logo.png)", "see logo"),
        ("a fact.[3] Another.[^2]", "a fact. Another."),
        ("visit <https://example.org> or https://example.org/x today", "visit or today"),
        ("line<br/>break <b>bold</b>", "line break bold"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("``quoted ''", '"quoted "'),
        ("2 < 3 and 4 > 3", "2 < 3 and 4 > 3"),
    ],
)
def test_plain_removes_markup(line: str, expected: str) -> None:
    assert plain(line) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works. It is fast! Is it?", ["It works.", "It is fast!", "Is it?"]),
        ("Dr. Keller met J. R. Berg in the U.S. on Friday.", ["Dr. Keller met J. R. Berg in the U.S. on Friday."]),
        ("She moved to the U.S. The town was small.", ["She moved to the U.S.", "The town was small."]),
        ("Version 3.2 is out, e.g. here. it goes on.", ["Version 3.2 is out, e.g. here. it goes on."]),
        ("Am 3. Mai 2024 war es so. Zwischen dem 10. und dem 20. April.",
         ["Am 3. Mai 2024 war es so.", "Zwischen dem 10. und dem 20. April."]),
        ("Er zahlte 3,2 Mio. Euro an die Bahnhofstr. 5 nach Abs. 2. Im 2. Quartal 2023 fiel es um 5 %. Köln.",
         ["Er zahlte 3,2 Mio. Euro an die Bahnhofstr. 5 nach Abs. 2.", "Im 2. Quartal 2023 fiel es um 5 %.",
          "Köln."]),
        ("今日は晴れ。明日は雨。", ["今日は晴れ。", "明日は雨。"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("one line\nwrapped into the next line of it", ["one line wrapped into the next line of it"]),
        ("- first item\n- second item\n  that goes on\n1. third", ["first item", "second item that goes on", "third"]),
        ("**Owner:** Anna\n**Status:** done", ["Owner: Anna", "Status: done"]),
        ("hard break  \nnext line of the text", ["hard break", "next line of the text"]),
        ("| Name | Place |\n|---|---|\n| Anna | Oslo |", ["Name; Place", "Anna; Oslo"]),
        ("Holm | Oslo |\n| Anna | Rome |\n|---|:-:|\n| B\nThe end.", ["Holm; Oslo", "Anna; Rome", "B", "The end."]),
        ("before\n\n```python\nCode = Here\n```\n\nafter", ["before", "after"]),
        ("---\ntitle: Secret\n---\nThe body.", ["The body."]),
        ("> quoted words\n> of a person.", ["quoted words of a person."]),
        # Cut inside a code span: text between two others is none.
        ("sync` If `wal_sync` is either `fd`, or", ["sync If wal_sync is either fd`, or"]),
        ("a` is\nnot `b` but `c`", ["a is not b but c`"]),
        ("| a` or `b` | `c` |\n|---|---|\n| d` or `e` | `f` |", ["a or b`; `c`", "d or e`; `f`"]),
        ("the end of\n```\nis prose", ["the end of", "is prose"]),
        # Cut inside code, at the beginning or at both ends.
        ("a()\n```\nIda left.\n```sh\nx()\n```\nPer came.", ["a()", "Ida left.", "Per came."]),
        ("a()\n```\n\nIda left.\n\n```\nx()\n```\n\nPer came.", ["a()", "Ida left.", "Per came."]),
        ("a()\n~~~\nIda left.\n```sh\nx()", ["a()", "Ida left."]),
        ("Ida left.\n\n```\n\nx()\n```\n\nPer came.", ["Ida left.", "Per came."]),
        ("Ida left.\n```sh\nx()\n```\nPer came.\n```\ny()", ["Ida left.", "Per came.", "y()"]),
        # Fences of other marks, or of fewer, are text of the code; a line with more behind its marks is no fence.
        ("Ida left.\n\n````\n```python\nx()\n```\n````\n\nPer came.", ["Ida left.", "Per came."]),
        ("Ida left.\n~~~md\n```sh\nx()\n~~~\nPer came.", ["Ida left.", "Per came."]),
        ("Ida left.\n````\n~~~\n```\n`````\nPer came.\n```sh\nx()\n```\nEva left.",
         ["Ida left.", "Per came.", "Eva left."]),
        ("Ida left.\n```sh\nx()\n```py\ny()\n```\nPer came.", ["Ida left.", "Per came."]),
        ("Ida left.\n\n```\nx()\n```\n\nPer came.\n\n```` ```\n\nEva left.",
         ["Ida left.", "Per came.", "```` ```", "Eva left."]),
        ("y()\n````\n\nIda left.\n```sh\nx()\n```\nPer came.", ["y()", "Ida left.", "Per came."]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences_without_headings(text: str, expected: list[str]) -> None:
    assert [part.text for part in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\n### Two ##\n\nText.", [("One", 1), ("Two", 3), ("Text.", 0)]),
        ("Title\n=====\n\nPart\n----\n\nText.", [("Title", 1), ("Part", 2), ("Text.", 0)]),
        ("A Title\nThe text of this passage is on one long line.",
         [("A Title", 1), ("The text of this passage is on one long line.", 0)]),
        ("THE REPORT\nKept by Anna Keller.", [("THE REPORT", 1), ("Kept by Anna Keller.", 0)]),
        ("Chapter One\n\nIt began.\n\nThe end\n\nIt stopped.",
         [("Chapter One", 1), ("It began.", 0), ("The end", 2), ("It stopped.", 0)]),
    ],
)  # fmt: skip
def test_headings_have_levels(text: str, expected: list[tuple[str, int]]) -> None:
    assert sentences(text) == [Sentence(part, level) for part, level in expected]


def test_no_sentence_is_longer_than_600_characters() -> None:
    parts = sentences("word " * 1000 + "x" * 2000)
    assert max(len(part.text) for part in parts) <= 600
    assert "".join(part.text for part in parts).replace(" ", "") == "word" * 1000 + "x" * 2000
