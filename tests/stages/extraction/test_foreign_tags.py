"""Rows whose tags are in the language of the answer."""

import pytest

from lightrag_dagster.stages.extraction.parsing import parse_response
from tests.stages.extraction.reading import read

ROWS = [
    "{0}¦Ida Wren¦Person¦Ida leads the crew.",
    "{0}¦Corley¦Location¦A town.",
    "{1}¦Ida Wren¦Corley¦work¦Ida works in Corley.",
]
READ = ["Ida Wren ¦ person ¦ Ida leads the crew.", "Corley ¦ location ¦ A town."]
READ += ["Ida Wren ¦ Corley ¦ work ¦ Ida works in Corley."]
TAGS = [
    ("实体", "关系"),
    ("エンティティ", "関係"),
    ("сущность", "отношение"),
    ("Entität", "Beziehung"),
    ("Entidad", "Relación"),
    ("entité", "relation"),
    ("varlık", "ilişki"),
    ("개체", "관계"),
    ("**实体**", "**关系**"),
    ("- Entität", "- Beziehung"),
    ('("сущность"', '("связь"'),
    ("entity", "Beziehung"),
    ("Wesen", "relation"),
    ("Ding", "Verbindung"),
]


@pytest.mark.parametrize(("entity", "relation"), TAGS)
def test_tags_of_another_language(entity: str, relation: str) -> None:
    answer = "\n".join(ROWS).format(entity, relation)
    assert read(f"{answer}\n<|COMPLETE|>") == READ
    assert not parse_response(answer.replace("¦", "<|#|>")).rejected


@pytest.mark.parametrize("tag", ["实体", "сущность", "Entität", "entidad"])
def test_one_row_with_a_word_that_nothing_else_can_be(tag: str) -> None:
    assert read(ROWS[0].format(tag)) == READ[:1]


def test_a_row_with_too_few_fields_is_rejected_under_the_tag_it_has() -> None:
    answer = "\n".join([*ROWS, "{0}¦Acme¦Organization"]).format("实体", "关系").replace("¦", "<|#|>")
    assert parse_response(answer).rejected == ("entity with 3 of 4 fields",)


@pytest.mark.parametrize(
    "answer",
    [
        # one line agrees with nothing
        "Note¦Ida Wren¦Person¦Ida leads the crew.",
        "Ding¦Ida Wren¦Person¦Ida leads the crew.",
        # rows without tags: names in the first field
        "Ida¦Corley¦work¦Ida works in Corley.\nIda¦Acme¦lead¦Ida leads Acme.",
        "Ida¦Person¦Ida leads the crew.\nCorley¦Location¦A town.\nIda¦Corley¦work¦Ida works in Corley.",
        "Ida Wren¦Corley¦work¦Ida works in Corley.\nIda Wren¦Acme¦lead¦She leads Acme.",
        # one word for rows of either kind, three words
        "Zeile¦Ida¦Person¦She leads.\nPosten¦Ida¦Corley¦work¦She works.\nEintrag¦Corley¦Location¦A town.",
    ],
)
def test_lines_that_do_not_agree(answer: str) -> None:
    assert read(answer) == []
    assert set(parse_response(answer.replace("¦", "<|#|>")).rejected) == {"row without entity or relation"}
