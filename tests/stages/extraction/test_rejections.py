"""What of an answer counts as a rejected row, and what does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.extraction import rejections
from lightrag_dagster.stages.extraction.parsing import MOST_ROWS, parse_response
from lightrag_dagster.stages.extraction.rejections import Rejected, wrong_fields
from lightrag_dagster.stages.extraction.tuple_rows import Kind
from tests.stages.extraction.test_parsing import ANSWER, pieces

ENTITY = '{"name": "Alice", "type": "Person", "description": "An engineer."}'
FIELDS: dict[Kind, int] = {"entity": 4, "relation": 5}
WORDS = {one.reason for one in vars(rejections).values() if isinstance(one, Rejected)} | {
    wrong_fields(kind, found, wanted).reason
    for kind, wanted in FIELDS.items()
    for found in range(1, 7)
    if found != wanted
}


def reasons(text: str, *, truncated: bool = False) -> list[str]:
    return list(parse_response(text, truncated=truncated).rejected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a number of fields that is no row's
        ("entity<|#|>", ["entity with 2 of 4 fields"]),
        ("entity<|#|>Alice<|#|>Person", ["entity with 3 of 4 fields"]),
        ("entity<|#|>A<|#|>person<|#|>d<|#|>more<|#|>still more", ["entity with more than 4 fields"]),
        ("relation<|#|>A<|#|>", ["relation with 3 of 5 fields"]),
        ("relation<|#|>A<|#|>B<|#|>They met.", ["relation with 4 of 5 fields"]),
        ("relation<|#|>A<|#|>B<|#|>k<|#|>d<|#|>and more text", ["relation with more than 5 fields"]),
        # a field that cannot be used
        ("entity<|#|><|#|>Person<|#|>One.", ["entity without a name"]),
        ("entity<|#|>12<|#|>Person<|#|>One.", ["entity without a name"]),
        ("entity<|#|>Alice<|#|>Person's<|#|>One.", ["entity without a type"]),
        ("entity<|#|>Alice<|#|>Person<|#|>", ["entity without a description"]),
        ("relation<|#|>A<|#|><|#|>k<|#|>d", ["relation without an end"]),
        ("relation<|#|>A<|#|>B<|#|>k<|#|>", ["relation without a description"]),
        ('relation<|#|>A<|#|>"A"<|#|>k<|#|>d', ["relation of an entity with itself"]),
        # a line of rows that begins otherwise, or with other marks in place of the delimiters
        ("Alice<|#|>person<|#|>An engineer.", ["row without entity or relation"]),
        ("note<|#|>Alice<|#|>person<|#|>An engineer.", ["row without entity or relation"]),
        ("entity|Alice|Person|An engineer.", ["row without field delimiters"]),
        ("| relation | A | B | k | They met. |", ["row without field delimiters"]),
        ("entity\tAlice\tPerson\tAn engineer.", ["row without field delimiters"]),
        # each row of a line, and the lines of sections that markers end
        (
            "entity<|#|>A<|#|>person##relation<|#|>A<|#|>B<|#|>d",
            ["entity with 3 of 4 fields", "relation with 4 of 5 fields"],
        ),
        ("entity<|#|>\nrelation<|#|>A<|#|>\n<|COMPLETE", ["entity with 2 of 4 fields", "relation with 3 of 5 fields"]),
        (f"{ANSWER}B<|#|>person<|#|>One.\n<|COMPLETE|>\n", ["row without entity or relation"]),
        (f"{ANSWER}entity<|#|>B\n{ANSWER}", ["entity with 2 of 4 fields"]),
    ],
)
def test_a_rejected_row(text: str, expected: list[str]) -> None:
    assert sorted(reasons(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n\n", "I found no entities.", "<|COMPLETE|>", "\n<|COMPLETE|>\n\n"),
        ANSWER,
        ANSWER.replace("\n", "\n\n"),
        f"Sure! Each row has its fields between <|#|> marks:\n\n```\n{ANSWER}```\nI hope this helps.",
        f"**Entities:**\n{ANSWER.replace('relation<', '--- Relations ---' + chr(10) + 'relation<')}",
        f"{ANSWER}entity<|#|>Ghost\nnot<|#|>read<|#|>any more",
        f"{ANSWER}\nAnother passage:\nentity<|#|>Ghost\n<|COMPLETE|>",
        f"<think>entity<|#|>Draft\n</think>\n{ANSWER}",
        f"{ANSWER.replace('<|COMPLETE|>', '')}{ANSWER}",
        # templates of the prompt
        f"entity<|#|>{{entity_name}}<|#|>{{entity_type}}<|#|>{{entity_description}}\n{ANSWER}",
        f"entity<|#|><entity_name><|#|><entity_type>\n{ANSWER}",
        f"entity_name<|#|>entity_type<|#|>entity_description\n{ANSWER}",
        f"| Entity | Type | Description |\n{ANSWER}",
        f"relation<|#|>source<|#|>target<|#|>keywords<|#|>description\n{ANSWER}",
        # JSON, and braces that are none
        f'{{"entities": [{ENTITY}], "relationships": []}}',
        '{"entities": [], "relationships": []}',
        "Nothing is named in {section: 3}. <|COMPLETE|>",
    ],
)
def test_what_is_no_loss(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{ANSWER.splitlines()[0]}\nentity<|#|>B<|#|>Per", []),
        (f"{ANSWER.splitlines()[0]}\nB<|#|>person<|#|>Tw", []),
        (f"{ANSWER.splitlines()[0]}\nentity<|#|>B<|#|>Per\nentity<|#|>C<|#|>Per", ["entity with 3 of 4 fields"]),
        (f"{ANSWER.splitlines()[0]}\nentity<|#|>B<|#|>Per\n", ["entity with 3 of 4 fields"]),
        (f'{{"entities": [{ENTITY}, {{"name": "Bo', []),
    ],
)
def test_what_was_cut_off_is_told_by_the_status_alone(text: str, expected: list[str]) -> None:
    assert reasons(text, truncated=True) == expected


@pytest.mark.parametrize(
    ("entities", "relations", "expected"),
    [
        ([{"name": "", "type": "t", "description": "d"}], [], ["entity without a name"]),
        ([{"called": "A", "type": "t", "description": "d"}], [], ["entity without a name"]),
        ([{"name": "A", "description": "d"}], [], ["entity without a type"]),
        (["A", "B"], [], ["JSON item that is no object"] * 2),
        ("A", [], ["JSON item that is no object"]),
        ({"A": {"type": "t"}}, [], ["entity without a description"]),
        ([], [{"source": "A", "description": "d"}], ["relation without an end"]),
        ([], [{"source": "A", "target": "A", "description": "d"}], ["relation of an entity with itself"]),
        ([], [{"source": "A", "target": "B", "keywords": "k"}], ["relation without a description"]),
    ],
)
def test_items_of_json(entities: object, relations: object, expected: list[str]) -> None:
    answer = json.dumps({"entities": entities, "relationships": relations})
    assert reasons(answer) == expected
    assert reasons(f"{answer}\n<|COMPLETE|>") == expected


def test_an_answer_that_runs_away_is_rejected_once() -> None:
    """Else the rows of one would be more than the tenth that withholds a source of many."""
    found = parse_response("".join(f"entity<|#|>Weir {at}<|#|>place<|#|>A weir.\n" for at in range(MOST_ROWS + 20)))
    assert (len(found.entities), found.rejected) == (MOST_ROWS, (rejections.TOO_MANY.reason,))


def test_an_item_that_cannot_be_repaired() -> None:
    long = f'{{"name": "Bo"b", "type": [[[, "description": {"x" * 5000}'
    answer = f'{{"entities": [{ENTITY}, {long}, {ENTITY.replace("Alice", "Carol")}]}}'
    found = parse_response(answer)
    assert [entity.name for entity in found.entities] == ["Alice", "Carol"]
    assert found.rejected == ("JSON item that cannot be repaired",)


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        (ANSWER, True),
        (f"{ANSWER}entity<|#|>", True),
        (f"entity<|#|>\n{ANSWER}", True),
        ("<|COMPLETE|>", True),
        ('{"entities": []}', True),
        ("I cannot say.", False),
        ("entity<|#|>\nrelation<|#|>A<|#|>\n<|COMPLETE", False),
        ("entity|Alice|Person|An engineer.\n<|COMPLETE|>", False),
        ('{"entities": ["Alice"], "relationships": []}', False),
    ],
)
def test_an_answer_whose_rows_are_all_rejected_is_not_usable(text: str, usable: bool) -> None:
    assert parse_response(text).usable is usable


@given(st.text() | pieces, st.booleans())
def test_a_reason_is_one_of_few_texts(text: str, truncated: bool) -> None:
    assert set(reasons(text, truncated=truncated)) <= WORDS
