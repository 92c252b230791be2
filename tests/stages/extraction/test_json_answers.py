"""Answers in JSON, whole and broken."""

import json

import pytest

from lightrag_dagster.stages.extraction.json_answers import JsonAnswer, read_json
from lightrag_dagster.stages.extraction.records import EntityRecord, RelationRecord
from lightrag_dagster.stages.extraction.rejections import BROKEN_OFF, NO_END, SEVERAL_ENDS

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
        f'"oops {WHOLE}',
        '{"answer": "none found"}',
        '{"items": [1, 2], "name": "records"}',
        "See [1] and [section 3].",
        "[" * 5000,
        "{note}",
        "{}",
        "{" * 5000,
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_what_is_no_such_object_is_refused(answer: str) -> None:
    assert read_json(answer, truncated=False) is None


@pytest.mark.parametrize(
    "answer",
    ['{"entities": [], "relationships": []}', "[]", "```json\n[]\n```", '{"entities": null, "relations": null}'],
)
def test_an_empty_list_is_an_answer(answer: str) -> None:
    assert read_json(answer, truncated=False) == JsonAnswer([], [], whole=True)


# Reported cases I3, I4, I6.
@pytest.mark.parametrize(
    "answer",
    [
        # several objects
        f'{{"entities": [{ENTITY}], "relationships": []}}\n{{"entities": [], "relationships": [{RELATION}]}}',
        f'{{"entities": [{ENTITY}]}}\n\nAnd the relations:\n```json\n{{"relationships": [{RELATION}]}}\n```',
        f'{{"entities": [{ENTITY}]}}{{"relationships": [{RELATION}]}}',
        # bare lists, JSON lines
        f"[{ENTITY}, {RELATION}]",
        f"Here are [2] records: [{ENTITY}, {RELATION}]",
        f"[[{ENTITY}], [{RELATION}]]",
        f"{ENTITY}\n{RELATION}",
        f"```jsonl\n{ENTITY}\n{RELATION}\n```",
        # another object around it, a call of a tool
        f'{{"result": {WHOLE}}}',
        f'[{{"name": "extract", "arguments": {WHOLE}}}]',
        f'{{"type": "graph", "data": [{WHOLE}]}}',
        # a mapping, one object for a list
        f'{{"entities": {{"Alice": {ENTITY}}}, "relationships": {RELATION}}}',
    ],
)
def test_other_shapes_of_json_are_read(answer: str) -> None:
    assert read_json(answer, truncated=False) == JsonAnswer([ALICE], [WORKS], whole=True)


# Reported case I5.
@pytest.mark.parametrize(
    ("entities", "relations", "entity", "relation"),
    [
        (
            "entities",
            "relations",
            ("entity_name", "entity_type", "entity_description"),
            ("src_id", "tgt_id", "relationship_keywords", "relationship_description"),
        ),
        ("nodes", "edges", ("id", "type", "description"), ("source", "target", "type", "description")),
        (
            "extracted_entities",
            "edges",
            ("name", "entity_type", "summary"),
            ("source_entity_name", "target_entity_name", "relation_type", "fact"),
        ),
        ("Entities", "Triples", ("Name", "Type", "Description"), ("head", "tail", "relation", "description")),
        ("entity_list", "relation_list", ("entity", "category", "desc"), ("subject", "object", "predicate", "desc")),
        ("entities", "relationships", ("title", "label", "description"), ("from", "to", "label", "description")),
    ],
)
@pytest.mark.parametrize("broken", [False, True])
def test_other_keys_are_read(
    entities: str, relations: str, entity: tuple[str, ...], relation: tuple[str, ...], broken: bool
) -> None:
    made = {
        entities: [dict(zip(entity, ("Alice", "Person", "An engineer."), strict=True))],
        relations: [dict(zip(relation, ("Alice", "Acme", "work", "Alice works at Acme."), strict=True))],
    }
    answer = json.dumps(made)[: -2 if broken else None]
    assert read_json(answer, truncated=False) == JsonAnswer([ALICE], [WORKS], whole=not broken)
    if not broken:
        assert read_json(json.dumps([*made[entities], *made[relations]]), truncated=False) == JsonAnswer(
            [ALICE], [WORKS], whole=True
        )


def test_an_id_is_a_name_where_there_is_no_other() -> None:
    item = {"id": 7, "entity_name": "Alice", "type": "Person", "description": "An engineer."}
    assert read_json(json.dumps([item]), truncated=False) == JsonAnswer([ALICE], [], whole=True)


def test_an_entity_with_all_of_its_own_is_none_of_two_ends() -> None:
    item = {"name": "Alice", "type": "Person", "description": "An engineer.", "from": "1914", "to": "1918"}
    assert read_json(json.dumps([item]), truncated=False) == JsonAnswer([ALICE], [], whole=True)


def test_a_line_of_json_that_is_cut_off_is_left_out_of_a_truncated_answer() -> None:
    assert read_json(f"{ENTITY}\n{RELATION[:40]}", truncated=True) == JsonAnswer([ALICE], [], whole=False)
    assert read_json(f"[{ENTITY}, {RELATION[:40]}", truncated=True) == JsonAnswer([ALICE], [], whole=False)


@pytest.mark.parametrize("cut", [WHOLE[:-4], WHOLE[:-20], WHOLE[: WHOLE.index("Acme")]])
def test_of_a_truncated_answer_the_item_that_was_cut_off_is_left_out(cut: str) -> None:
    assert read_json(cut, truncated=True) == JsonAnswer([ALICE], [], whole=False)


@pytest.mark.parametrize(
    "cut",
    [
        *(WHOLE[: WHOLE.index(rest)] for rest in (' "rel', "ships", RELATION, "source", "Acme", '."}]}')),
        WHOLE[: WHOLE.index('."}]}')].replace("at Acme", "at {1}, Acme"),
        WHOLE.replace('"', "'")[:-20],
        f"{ENTITY}\n{RELATION[:40]}",
        f"```json\n[{ENTITY}, {RELATION[:2]}",
    ],
)
def test_of_json_that_breaks_off_the_item_that_is_not_whole_is_left_out(cut: str) -> None:
    assert read_json(cut, truncated=False) == JsonAnswer([ALICE], [], whole=False, rejected=(BROKEN_OFF,))


@pytest.mark.parametrize("cut", ['{"entities": [', '{"entities": [{"name": "Al', '{"entities":' * 5000])
@pytest.mark.usefixtures("uncollected")
def test_json_that_breaks_off_before_its_first_item_is_an_answer_that_was_cut(cut: str) -> None:
    assert read_json(cut, truncated=False) == JsonAnswer([], [], whole=False, rejected=(BROKEN_OFF,))


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
    ("source", "target", "expected"),
    [
        ("A", ["B", "C"], [("A", "B"), ("A", "C")]),
        (["A", "B"], ["C"], [("A", "C"), ("B", "C")]),
        (["A"], "B", [("A", "B")]),
        (["A", "B"], ["C", "D"], []),
        ("A", [], []),
        (["A", "B"], [], []),
    ],
)
def test_ends_in_a_list_are_a_relation_each(source: object, target: object, expected: list[tuple[str, str]]) -> None:
    item = {"source": source, "target": target, "keywords": "k", "description": "d"}
    found = read_json(json.dumps({"relationships": [item]}), truncated=False)
    assert found is not None
    assert [(one.src, one.tgt) for one in found.relations] == expected
    assert found.rejected == (() if expected else (SEVERAL_ENDS if target == ["C", "D"] else NO_END,))


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


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "[",
        '"',
        "\\",
        "\n",
        '{"a":',
        '["a",',
        "’",
        pytest.param("{a:'", marks=pytest.mark.long),
        '"a":"b",',
        "}, {",
    ],
)
def test_long_repetitions_are_survived(piece: str) -> None:
    answer = f'{{"entities": [{ENTITY}, {{"name": "' + piece * (40_000 // len(piece))
    found = read_json(answer, truncated=False)
    assert found is not None
    assert found.entities[0] == ALICE
