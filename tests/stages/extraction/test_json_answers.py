"""Answers in JSON, whole and broken."""

import json

import pytest

from lightrag_dagster.stages.extraction.json_answers import JsonAnswer, read_json
from lightrag_dagster.stages.extraction.records import EntityRecord, RelationRecord

ALICE = EntityRecord("Alice", "person", "An engineer.")
WORKS = RelationRecord("Alice", "Acme", "work", "Alice works at Acme.")
ENTITY = '{"name": "Alice", "type": "Person", "description": "An engineer."}'
RELATION = '{"source": "Alice", "target": "Acme", "keywords": "work", "description": "Alice works at Acme."}'
WHOLE = f'{{"entities": [{ENTITY}], "relationships": [{RELATION}]}}'


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"```{WHOLE}```",
        f"Here is the result: {WHOLE}",
        f"Here's the result:\n{WHOLE}\nLet me know {{if}} anything is missing.",
        json.dumps(json.loads(WHOLE), indent=2),
        f'Called "records [1]": {WHOLE}',
    ],
)
def test_a_valid_object_is_whole(answer: str) -> None:
    assert read_json(answer, truncated=False) == JsonAnswer([ALICE], [WORKS], whole=True)


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE.replace("}]", "},]"),
        WHOLE.replace("}], ", "}],, "),
        WHOLE.replace('"', "'"),
        WHOLE.replace('"name"', "name").replace('"type"', "type").replace('"source"', "source"),
        WHOLE[:-1],
        WHOLE[:-2],
        WHOLE.replace(", {", " {").replace('], "rel', '] "rel'),
        f"```json\n{WHOLE[:-1]}\n```",
        WHOLE.replace('"}]', "}]"),
        f"{WHOLE[:-1]} [1]",
    ],
)
def test_a_broken_object_is_repaired(answer: str) -> None:
    assert read_json(answer, truncated=False) == JsonAnswer([ALICE], [WORKS], whole=False)


def test_one_broken_item_costs_no_other() -> None:
    broken = '{"name": "Bo"b", "type": [[[, "description": }'
    answer = f'{{"entities": [{ENTITY}, {broken}, {ENTITY.replace("Alice", "Carol")}], "relationships": [{RELATION}]}}'
    found = read_json(answer, truncated=False)
    assert found is not None
    assert [entity.name for entity in found.entities if entity.type == "person"] == ["Alice", "Carol"]
    assert found.relations == [WORKS]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Nothing to record.",
        f"[{ENTITY}, {ENTITY}]",
        f"Here is the result: [{ENTITY}]",
        f'"oops {WHOLE}',
        f"[}}{WHOLE}",
        '{"answer": "none found"}',
        "{note}",
        "{}",
        "{" * 5000,
        '{"entities":' * 5000,
    ],
)
def test_what_is_no_such_object_is_refused(answer: str) -> None:
    assert read_json(answer, truncated=False) is None


def test_an_empty_object_is_an_answer() -> None:
    assert read_json('{"entities": [], "relationships": []}', truncated=False) == JsonAnswer([], [], whole=True)


@pytest.mark.parametrize("cut", [WHOLE[:-4], WHOLE[:-20], WHOLE[: WHOLE.index("Acme")]])
def test_of_a_truncated_answer_the_item_that_was_cut_off_is_left_out(cut: str) -> None:
    assert read_json(cut, truncated=True) == JsonAnswer([ALICE], [], whole=False)


def test_a_truncated_answer_keeps_its_whole_items() -> None:
    assert read_json(WHOLE[:-2], truncated=True) == JsonAnswer([ALICE], [WORKS], whole=False)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"name": "Alice", "type": "Person", "description": "It has\na line break."}, "It has\na line break."),
        ({"name": "Alice", "type": "Person", "description": 7.25}, ""),
        ({"name": "Alice", "type": "Person", "description": None}, ""),
        ({"name": "Alice", "type": ["Person", "Author"], "description": "d"}, "d"),
        ({"name": "Alice", "description": "d"}, ""),
        ({"name": "", "type": "Person", "description": "d"}, ""),
        ({"name": "{entity_name}", "type": "Person", "description": "d"}, ""),
        ({"name": "Al\ud800ice", "type": "Person", "description": "d"}, "d"),
    ],
)
def test_items_follow_the_rules_of_records(item: dict[str, object], expected: str) -> None:
    found = read_json(json.dumps({"entities": [item, "no item", None]}), truncated=False)
    assert found is not None
    assert "".join(entity.description for entity in found.entities) == expected


@pytest.mark.parametrize(
    ("keywords", "expected"), [("a, b", "a, b"), (["a", "b"], "a, b"), ("", ""), (None, ""), ([], ""), ({"a": 1}, "")]
)
def test_keywords_may_be_a_list_or_blank(keywords: object, expected: str) -> None:
    item = {"source": "A", "target": "B", "keywords": keywords, "description": "d"}
    found = read_json(json.dumps({"relationships": [item]}), truncated=False)
    assert found is not None
    assert found.relations == [RelationRecord("A", "B", expected, "d")]


@pytest.mark.parametrize(
    ("written", "description"),
    [
        (r"Uses \frac{a}{b} here.", r"Uses \frac{a}{b} here."),
        (r"Uses \beta here.", r"Uses \beta here."),
        (r"Uses \\frac here.", r"Uses \frac here."),
    ],
)
def test_latex_that_json_swallows_is_restored(written: str, description: str) -> None:
    answer = f'{{"entities": [{{"name": "Alice", "type": "Person", "description": "{written}"}}]}}'
    found = read_json(answer, truncated=False)
    assert found is not None
    assert found.entities[0].description == description


@pytest.mark.parametrize("piece", ["{", "[", '"', "\\", "\n", '{"a":', '["a",', "’", "{a:'", '"a":"b",', "}, {"])
def test_long_repetitions_are_survived(piece: str) -> None:
    answer = f'{{"entities": [{ENTITY}, {{"name": "' + piece * (40_000 // len(piece))
    found = read_json(answer, truncated=False)
    assert found is not None
    assert found.entities[0] == ALICE
