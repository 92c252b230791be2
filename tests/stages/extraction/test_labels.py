"""Labels: words before the tag of a row, around it, and before the value of a field."""

from itertools import product

from tests.stages.extraction.reading import differences, read, read_json

ALICE = "Alice ¦ person ¦ She leads."
WORKS = "Alice ¦ Acme ¦ work ¦ She works there."

# Each is written before `entity` and before `relation`, with its own word for either.
LEADS = [
    *("Entity: ", "Entity 1: ", "1. Entity: ", "[Entity 1] ", "(Entity) ", "**Entity**: ", "### Entity\t- "),
    *("Entity record: ", "Entity #3: ", "Entity → ", "Entity - ", "ENTITY: ", "Entities: "),
    *("Answer: ", "Final answer: ", "Result: ", "Result 1: ", "Results - ", "Output: ", "Assistant: ", "AI: "),
    *(
        "Fact: ",
        "Node: ",
        "Edge 2: ",
        "Triple: ",
        "Tuple 3: ",
        "Type: ",
        "type=",
        "Kind: ",
        "Tag: ",
        "Tag= ",
        "kind -> ",
    ),
    *("Step 1: ", "Line 4. ", "E1: ", "r1. ", "#1: ", "Record [1]: ", "Record type: ", "Part (b): ", "Next one: "),
    *("Sure! Here is the first record: ", "I found this: ", "Here you go -> ", "<li>", "<b>", "<row>", "Alice: "),
    *("…and so she left. ", "实体1：", "答案：", "記録: "),
]
TAGS = [
    *("entity record", "Entity Record", "entity row", "entity_record", "entity-record", "entity line", "entity item"),
    *(
        "entity_name",
        "entity name",
        "Entity Name:",
        "the entity is",
        "The entity is:",
        "New entity found:",
        "Entity tuple",
    ),
    *(
        "named entity",
        "Named_Entity",
        "extracted entity",
        "Entity_1",
        "entity-1",
        "Entity (1)",
        "Entity #1",
    ),
]


def _other(text: str) -> str:
    return (
        text.replace("Entities", "Relations")
        .replace("Entity", "Relation")
        .replace("entity", "relation")
        .replace("ENTITY", "RELATION")
    )


def test_a_label_before_the_tag() -> None:
    expected = {f"{lead}entity¦Alice¦Person¦She leads.": [ALICE] for lead in LEADS}
    expected |= {f"{_other(lead)}relation¦Alice¦Acme¦work¦She works there.": [WORKS] for lead in LEADS}
    assert differences(expected, read) == {}


def test_a_label_around_the_tag() -> None:
    expected = {f"{tag}¦Alice¦Person¦She leads.": [ALICE] for tag in TAGS}
    expected |= {f"{_other(tag)}¦Alice¦Acme¦work¦She works there.": [WORKS] for tag in TAGS}
    assert differences(expected, read) == {}


def test_a_colon_for_the_first_delimiter() -> None:
    tags = [
        "entity",
        "Entity",
        "- entity",
        "entity name",
        "entity_name",
        "Entity Name",
        "Entity record",
        "1. Entity 1",
        "**entity**",
    ]
    colons = [":", ": ", " : ", "：", "=", " = "]
    pairs = list(product(tags, colons))
    expected = {f"{tag}{colon}Alice¦Person¦She leads.": [ALICE] for tag, colon in pairs}
    expected |= {f"{_other(tag)}{colon}Alice¦Acme¦work¦She works there.": [WORKS] for tag, colon in pairs}
    assert differences(expected, read) == {}


PROSE = [
    "Correct: entity¦Alice¦Person¦She leads.",
    "Incorrect: entity¦Alice¦Person¦She leads.",
    "Wrong: entity¦Alice¦Person¦She leads.",
    "The right form is: entity¦Alice¦Person¦She leads.",
    "For example: entity¦Alice¦Person¦She leads.",
    "Example 1: relation¦Alice¦Acme¦work¦She works there.",
    "Bad: entity¦Alice¦Person¦She leads.",
    "e.g. entity¦Alice¦Person¦She leads.",
    "Row format: entity¦Alice¦Person¦She leads.",
    "Note: entities¦Alice¦Person¦She leads.",
    "Person entity¦Alice¦Person¦She leads.",
    "Each of them is an entity¦Alice¦Person¦She leads.",
    "identity¦Alice¦Person¦She leads.",
    "nonentity: ¦Alice¦Person¦She leads.",
    "entityname¦Alice¦Person¦She leads.",
    "relationally¦Alice¦Acme¦work¦She works there.",
    "Name: Alice¦Type: Person¦Description: She leads.",
    "Person: Alice¦Engineer¦She leads.",
    "The entity list has these¦Alice¦Person¦She leads.",
    "entity: name¦type¦description",
    "Entity name¦Entity type¦Entity description",
    "entity¦Name¦Entity Type¦Description",
    "entity¦&lt;entity_name&gt;¦Person¦d",
    "entity_name: Alice",
    f"{'A long story. ' * 9} entity¦Alice¦Person¦She leads.",
]


def test_prose_and_templates_are_no_rows() -> None:
    assert differences({line: [] for line in PROSE}, read) == {}


# A value as it is written, and as it is read; the same in rows and in JSON.
NAMES = {
    "Name: Alice": "Alice",
    "name: Alice": "Alice",
    "NAME: Alice": "Alice",
    "name:Alice": "Alice",
    "Name : Alice": "Alice",
    "Name：Alice": "Alice",
    "Name = Alice": "Alice",
    "name=Alice": "Alice",
    "Entity: Alice": "Alice",
    "Entity 1: Alice": "Alice",
    "entity #2: Alice": "Alice",
    "Entity name: Alice": "Alice",
    "entity_name: Alice": "Alice",
    "entity-name=Alice": "Alice",
    "Node: Alice": "Alice",
    "Source: Alice": "Alice",
    "source=Alice": "Alice",
    "Target: Alice": "Alice",
    "Source entity: Alice": "Alice",
    "source_entity: Alice": "Alice",
    "source_entity_name: Alice": "Alice",
    "Target name: Alice": "Alice",
    "src: Alice": "Alice",
    "tgt: Alice": "Alice",
    "Head entity: Alice": "Alice",
    "subject name: Alice": "Alice",
    "**Name**: Alice": "Alice",
    "**Name:** Alice": "Alice",
    "*name*: Alice": "Alice",
    "`name`: Alice": "Alice",
    '"name": "Alice"': "Alice",
    "'name': 'Alice'": "Alice",
    'name: "Alice"': "Alice",
    '"name: Alice"': "Alice",
    "name: “Alice”": "Alice",
    "Name: 北 京": "北京",
    "Name:\u00a0Alice": "Alice",
    "&quot;name&quot;: &quot;Alice&quot;": "Alice",
    "Name: Name: Alice": "Alice",
    "N\u200bame: Alice": "Alice",
    "Name: 42": "",
    # no labels
    "Name:": "Name:",
    "Name": "Name",
    "Names: Alice": "Names: Alice",
    "Nameless": "Nameless",
    "Entity Framework": "Entity Framework",
    "Source Code": "Source Code",
    "Source - Alice": "Source - Alice",
    "Title: Alice": "Title: Alice",
    "Star Trek: The Motion Picture": "Star Trek: The Motion Picture",
    "Type: Rider": "Type: Rider",
    "Category: Fiction": "Category: Fiction",
    "Object: Matrix": "Object: Matrix",
    "Node::Buffer": "Node::Buffer",
    "entity::Id": "entity::Id",
    "Re: Name: Alice": "Re: Name: Alice",
    "(name) Alice": "(name) Alice",
    "E=mc²": "E=mc²",
    "http://name:80": "http://name:80",
}
TYPES = {
    "Type: Person": "person",
    "type: Person": "person",
    "type=Person": "person",
    "Type：Person": "person",
    "Entity type: Person": "person",
    "entity_type: Person": "person",
    "ENTITY_TYPE = Person": "person",
    "**Type:** Person": "person",
    '"type": "Person"': "person",
    "Category: Person": "person",
    "class: Person": "person",
    "Kind: Natural Object": "naturalobject",
    "Types: Person, Author": "person",
    "type: [Person, Author]": "person",
    "type: (Person)": "person",
    "type:": "type:",
    "person: author": "person:author",
}
DESCRIPTIONS = {
    "Description: She leads.": "She leads.",
    "description: She leads.": "She leads.",
    "description=She leads.": "She leads.",
    "Description：She leads.": "She leads.",
    "Entity description: She leads.": "She leads.",
    "entity_description: She leads.": "She leads.",
    "relationship_description: She leads.": "She leads.",
    "**Description:** She leads.": "She leads.",
    '"description": "She leads."': "She leads.",
    "Desc: She leads.": "She leads.",
    # no labels of a description
    "Description of a lead.": "Description of a lead.",
    "Source: the annual report.": "Source: the annual report.",
    "Target: 90% of them.": "Target: 90% of them.",
    "Name: Alice, type: Person.": "Name: Alice, type: Person.",
    "She leads: Alice.": "She leads: Alice.",
}
KEYWORDS = {
    "Keywords: work, job": "work, job",
    "keyword: work": "work",
    "keywords=work": "work",
    "relationship_keywords: work": "work",
    "relation type: work": "work",
    "**Keywords:** work": "work",
    '"keywords": "work"': "work",
    "Keywords：工作，职业": "工作,职业",
    "key: work": "key: work",
}


def test_labels_of_fields() -> None:
    names = {name: [f"{expected} ¦ person ¦ d"] if expected else [] for name, expected in NAMES.items()}
    assert differences(names, lambda name: read(f"entity¦{name}¦Person¦d")) == {}
    assert differences(names, lambda name: read_json(name, "Person", "d")) == {}
    ends = {name: [f"Z ¦ {expected} ¦ k ¦ d"] if expected else [] for name, expected in NAMES.items()}
    assert differences(ends, lambda name: read(f"relation¦Z¦{name}¦k¦d")) == {}
    assert differences(ends, lambda name: read_json("Z", name, "k", "d")) == {}
    types = {kind: [f"Alice ¦ {expected} ¦ d"] if expected else [] for kind, expected in TYPES.items()}
    assert differences(types, lambda kind: read(f"entity¦Alice¦{kind}¦d")) == {}
    assert differences(types, lambda kind: read_json("Alice", kind, "d")) == {}
    descriptions = {text: [f"A ¦ B ¦ k ¦ {expected}"] for text, expected in DESCRIPTIONS.items()}
    assert differences(descriptions, lambda text: read(f"relation¦A¦B¦k¦{text}")) == {}
    assert differences(descriptions, lambda text: read_json("A", "B", "k", text)) == {}
    keywords = {text: [f"A ¦ B ¦ {expected} ¦ d"] for text, expected in KEYWORDS.items()}
    assert differences(keywords, lambda text: read(f"relation¦A¦B¦{text}¦d")) == {}
    assert differences(keywords, lambda text: read_json("A", "B", text, "d")) == {}


ROWS = {
    'entity: "Alice"¦Person¦She leads.': ALICE,
    "**Entity:** Alice¦Person¦She leads.": ALICE,
    "- **Relation 1:** Alice¦Acme¦work¦She works there.": WORKS,
    "entity¦Name: Alice¦Type: Person¦Description: She leads.": ALICE,
    "entity<|#|entity_name: Alice<|#|entity_type: Person<|#|entity_description: She leads.": ALICE,
    "Entity: Name: Alice¦Type: Person¦Description: She leads.": ALICE,
    "entity_name: Alice¦entity_type: Person¦entity_description: She leads.": ALICE,
    '("entity"¦"name": "Alice"¦"type": "Person"¦"description": "She leads.")##': ALICE,
    "1. **Entity**: entity¦**Name:** Alice¦**Type:** Person¦**Description:** She leads.": ALICE,
    "relation¦Source: Alice¦Target: Acme¦Keywords: work¦Description: She works there.": WORKS,
    "relation¦source_entity: Alice¦target_entity: Acme¦relation_keywords: work¦description: She works there.": WORKS,
    "Relationship: source: Alice¦target: Acme¦keywords: work¦description: She works there.": WORKS,
    "relation¦Source: Alice¦Target: Acme¦Description: She works there.¦Keywords: work¦Strength: 8": f"{WORKS} ¦ 8",
    "relation¦src=Alice¦tgt=Acme¦keywords=work¦description=She works there.¦weight=0.5\r\n": f"{WORKS} ¦ 0.5",
    "relation¦Source: Alice¦Target: Alice¦work¦d": None,
    "entity¦Name: entity_name¦Type: entity_type¦Description: entity_description": None,
    "entity¦Name: {entity_name}¦Type: Person¦Description: d": None,
    "entity¦Name: name¦Type: type¦Description: description": None,
}


def test_rows_with_labels() -> None:
    assert differences({row: [line] if line else [] for row, line in ROWS.items()}, read) == {}
