"""From rows to records: field counts, ambiguous rows and placeholders."""

import pytest

from lightrag_dagster.stages.extraction.records import (
    EntityRecord,
    RelationRecord,
    interpret,
    make_entity,
    make_relation,
)
from lightrag_dagster.stages.extraction.rejections import PLACEHOLDER
from lightrag_dagster.stages.extraction.tuple_rows import Kind, Row

BOB = EntityRecord("Bob", "person", "d")


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("entity", ["A", "person", "d"], EntityRecord("A", "person", "d")),
        ("entity", ["A", "person", "d", ""], EntityRecord("A", "person", "d")),
        ("entity", ["", "A", "person", "d"], EntityRecord("A", "person", "d")),
        ("entity", ["A", "person", "d", "8"], EntityRecord("A", "person", "d")),
        ("entity", ["A", "person", "high", ""], EntityRecord("A", "person", "high")),
        ("entity", ["A", "person", "d", "more", "8"], EntityRecord("A", "person", "d")),
        ("entity", ["A", "person", "d", "and four words more"], EntityRecord("A", "person", "d and four words more")),
        ("entity", ["A", "person", "d", "more", "still more"], None),
        ("entity", ["A", "person"], None),
        ("entity", [], None),
        ("entity", ["A", "B", "k", "d"], RelationRecord("A", "B", "k", "d")),
        ("entity", ["A", "B", "k", "d", "8"], RelationRecord("A", "B", "k", "d", 8.0)),
        ("entity", ["A", "person", "d", "high"], EntityRecord("A", "person", "d")),
        ("relation", ["A", "B", "k", "d"], RelationRecord("A", "B", "k", "d")),
        ("relation", ["A", "B", "", "d"], RelationRecord("A", "B", "", "d")),
        ("relation", ["A", "", "B", "k", "d", ""], RelationRecord("A", "B", "k", "d")),
        ("relation", ["A", "B", "k", "d", "0.5"], RelationRecord("A", "B", "k", "d", 0.5)),
        ("relation", ["A", "B", "They met.", "k", '"7"'], RelationRecord("A", "B", "k", "They met.", 7.0)),
        ("relation", ["A", "B", "d", "", "8", ""], RelationRecord("A", "B", "", "d", 8.0)),
        ("relation", ["A", "B", "k", "d", "high"], RelationRecord("A", "B", "k", "d")),
        ("relation", ["A", "B", "k", "d", "more"], None),
        ("relation", ["A", "B", "d", "8"], None),
        ("relation", ["A", "B", "d", "8", ""], None),
        ("relation", ["A", "B", "d"], None),
    ],
)
def test_field_counts(kind: Kind, fields: list[str], expected: EntityRecord | RelationRecord | None) -> None:
    entities, relations, rejected = interpret([Row(kind, fields)])
    assert len(rejected) == (expected is None)
    assert [*entities, *relations] == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("second", "others", "is_relation"),
    [
        ("Event", [], False),
        ("Natural Object", [], False),
        ("Weapon", [], True),
        ("Weapon", [Row("entity", ["Spear", "weapon", "d"])], False),
        ("Event", [Row("entity", ["Event", "concept", "d"])], True),
        ("Bob", [Row("entity", ["Bob", "person", "d"])], True),
    ],
)
def test_an_entity_with_a_fourth_text(second: str, others: list[Row], is_relation: bool) -> None:
    entities, relations, _ = interpret([Row("entity", ["A", second, "a text", "another"]), *others])
    assert (len(relations) == 1) is is_relation
    assert ([entity.description for entity in entities if entity.name == "A"] == ["a text"]) is not is_relation


def test_records_keep_their_order() -> None:
    rows = [Row("entity", [name, "person", "d"]) for name in "CAB"]
    rows.insert(1, Row("entity", ["X", "person", "one", "two"]))
    assert [entity.name for entity in interpret(rows)[0]] == ["C", "X", "A", "B"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "entity_name",
            "<entity_name>",
            "{entity_name}",
            "{{entity_name}}",
            "${entity_name}",
            "[Entity Name]",
            '"entity_name"',
        ),
        *("<source_entity>", "target_name", "Target Entity", "entity_name_1", "Name of the entity"),
    ],
)
def test_placeholders_are_no_names(name: str) -> None:
    assert make_entity(name, "Person", "d") is PLACEHOLDER
    assert make_relation(name, "B", "k", "d") is PLACEHOLDER
    assert make_relation("A", name, "k", "d") is PLACEHOLDER
    assert make_entity(name, "entity_type", "<description>") is None


@pytest.mark.parametrize(
    "name", ["Entity", "Source", "Name", "Target", "<div>", "{x}", "Entity Framework", "Source Code"]
)
def test_names_that_resemble_placeholders(name: str) -> None:
    entity = make_entity(name, "Concept", "d")
    assert isinstance(entity, EntityRecord)
    assert entity.name == name
