"""Whole answers: what they yield, where LightRAG's own parser loses or invents records, and properties for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.core.text.names import normalise_description, normalise_keywords, normalise_name
from lightrag_dagster.stages.extraction.parsing import (
    EntityRecord,
    Records,
    RelationRecord,
    merge_rounds,
    parse_response,
)

ANSWER = """\
entity<|#|>Alice<|#|>Person<|#|>Alice is an engineer.
entity<|#|>Acme<|#|>Organization<|#|>Acme makes anvils.
relation<|#|>Alice<|#|>Acme<|#|>employment, work<|#|>Alice works at Acme.
<|COMPLETE|>
"""
ALICE = EntityRecord("Alice", "person", "Alice is an engineer.")
ACME = EntityRecord("Acme", "organization", "Acme makes anvils.")
WORKS = RelationRecord("Alice", "Acme", "employment, work", "Alice works at Acme.")


def entities(*names: str) -> list[str]:
    return [f"entity<|#|>{name}<|#|>Person<|#|>{name} is someone." for name in names]


def records(text: str) -> list[str]:
    """Return the records of an answer, one readable line each."""
    found = parse_response(text)
    return [f"{entity.name} ({entity.type}): {entity.description}" for entity in found.entities] + [
        f"{relation.src} > {relation.tgt} [{relation.keywords}] {relation.weight:g}: {relation.description}"
        for relation in found.relations
    ]


def test_a_clean_answer() -> None:
    assert parse_response(ANSWER) == Records((ALICE, ACME), (WORKS,), complete=True)


@pytest.mark.parametrize(
    "text",
    [
        ANSWER.replace("<|COMPLETE|>\n", "<|COMPLETE|>"),
        ANSWER.replace("\n<|COMPLETE|>", "<|COMPLETE|>"),
        ANSWER.replace("\n<|COMPLETE|>", "\n\n<|Complete|>"),
        ANSWER.replace("\n<|COMPLETE|>", " <|COMPLETE"),
        ANSWER.replace("\n<|COMPLETE|>", "|COMPLETE|>"),
        ANSWER.replace("\n", "\r\n"),
        ANSWER.replace("\n", "\r"),
        ANSWER.replace("\n", "\n\n"),
        ANSWER.replace("\n", "\\n"),
        ANSWER.replace("\n", "##"),
        ANSWER.replace("\n", "##\n"),
        ANSWER.replace("\n", " "),
        ANSWER.replace("\n", "<|#|>"),
        ANSWER.replace("<|#|>", "<|>"),
        ANSWER.replace("<|#|>", " <|#|> "),
        ANSWER.replace("<|#|>", r"<|\#|>"),
        ANSWER.replace("entity", "Entity").replace("relation", "Relation"),
        ANSWER.replace("entity", "- entity").replace("relation", "- relation"),
        ANSWER.replace("entity", '("entity"').replace("relation", '("relationship"').replace(".\n", ".)\n"),
        ANSWER.replace("relation<|#|>", "entity<|#|>"),
        f"```\n{ANSWER}```",
        f"```text\n{ANSWER.replace(chr(10) + '<|COMPLETE|>', '```<|COMPLETE|>')}",
        f"Sure! Here are the records:\n\n{ANSWER}\nI hope this helps.",
        f"<think>First entity<|#|>Draft<|#|>x<|#|>y.</think>\n{ANSWER}",
        f"First entity<|#|>Draft<|#|>x<|#|>y.\n</think>\n{ANSWER}",
    ],
)
def test_the_same_answer_in_other_clothes(text: str) -> None:
    assert parse_response(text) == Records((ALICE, ACME), (WORKS,), complete=True)


# Each pair of a comment and a case is one of the places where LightRAG's parser loses, invents or spoils records.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a second record on the same line is lost
        (
            "entity<|#|>Alice<|#|>Person<|#|>One.<|#|>entity<|#|>Bob<|#|>Person<|#|>Two.",
            ["Alice (person): One.", "Bob (person): Two."],
        ),
        # the strength of older prompts costs the relation
        ("relation<|#|>A<|#|>B<|#|>They met.<|#|>friends<|#|>8", ["A > B [friends] 8: They met."]),
        ('("relationship"<|>"A"<|>"B"<|>"They met."<|>"friends"<|>7.5)##', ["A > B [friends] 7.5: They met."]),
        ("relation<|#|>A<|#|>B<|#|>They met.<|#|><|#|>8", ["A > B [] 8: They met."]),
        # capitalised record words are lost
        ("Relation<|#|>A<|#|>B<|#|>k<|#|>d", ["A > B [k] 1: d"]),
        ("RELATIONSHIP<|#|>A<|#|>B<|#|>k<|#|>d", ["A > B [k] 1: d"]),
        # an entity with a fifth field becomes a relation to its type, or is lost
        ("entity<|#|>Alice<|#|>Person<|#|>One.<|#|>Two.", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.<|#|>9", ["Alice (person): One."]),
        (
            "entity<|#|>Sword<|#|>Weapon<|#|>One.\nentity<|#|>Spear<|#|>Weapon<|#|>Two.<|#|>Three.",
            ["Sword (weapon): One.", "Spear (weapon): Two."],
        ),
        # … while a relation under the wrong word is still a relation
        (
            "entity<|#|>Alice<|#|>Bob<|#|>friendship<|#|>They met.\nentity<|#|>Bob<|#|>Person<|#|>One.",
            ["Bob (person): One.", "Alice > Bob [friendship] 1: They met."],
        ),
        ("entity<|#|>Alice<|#|>Acme<|#|>work<|#|>She works there.", ["Alice > Acme [work] 1: She works there."]),
        # rows that begin with a table bar or a quote become relations
        ("| entity<|#|>Alice<|#|>Person<|#|>One. |", ["Alice (person): One."]),
        ("> entity<|#|>Alice<|#|>Person<|#|>One.", ["Alice (person): One."]),
        (">entity<|#|>Alice<|#|>Person<|#|>One.", ["Alice (person): One."]),
        # a relation with a field missing becomes an entity
        ("- relation<|#|>Alice<|#|>Acme<|#|>She works there.", []),
        # so does any other word before four fields
        ("Note<|#|>Alice<|#|>Person<|#|>One.", []),
        ("The row is Alice<|#|>Person<|#|>One.<|#|>", []),
        # echoed templates become records
        ("entity<|#|>{entity_name}<|#|>{entity_type}<|#|>{entity_description}", []),
        ("entity<|#|><entity_name><|#|>Person<|#|><entity_description>", []),
        ("entity<|#|>entity_name<|#|>entity_type<|#|>entity_description", []),
        ("entity<|#|>name<|#|>type<|#|>description", []),
        ("entity<|#|>Name Of Entity<|#|>Concept<|#|>What the passage says of it.", []),
        ("relation<|#|><source_entity><|#|><target_entity><|#|><relationship_keywords><|#|><description>", []),
        ("relation<|#|>source name<|#|>target name<|#|>keywords<|#|>description", []),
        ("relation<|#|>{source}<|#|>{target}<|#|>{keywords}<|#|>{description}", []),
        ("entity<|#|><div><|#|>Concept<|#|>A block in HTML.", ["<div> (concept): A block in HTML."]),
        # a field that is exactly a record word splits its row
        ("entity<|#|>Entity<|#|>Concept<|#|>A thing.", ["Entity (concept): A thing."]),
        ("entity<|#|>entity<|#|>Concept<|#|>A thing.", ["entity (concept): A thing."]),
        ("entity<|#|>Relation<|#|>entity<|#|>A link.", ["Relation (entity): A link."]),
        ("relation<|#|>Entity<|#|>Relation<|#|>relationship<|#|>d", ["Entity > Relation [relationship] 1: d"]),
        # a </think> in a description deletes every record before it
        (
            "entity<|#|>Alice<|#|>Person<|#|>One.\nentity<|#|>R1<|#|>Method<|#|>It writes </think> first.",
            ["Alice (person): One.", "R1 (method): It writes </think> first."],
        ),
        # blank keywords cost the relation
        ("relation<|#|>A<|#|>B<|#|><|#|>They met.", ["A > B [] 1: They met."]),
        ("relation<|#|>A<|#|>B<|#|>  <|#|>They met.<|#|>", ["A > B [] 1: They met."]),
        # what closes the answer sticks to the last description
        ("entity<|#|>Alice<|#|>Person<|#|>One.)", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.**", ["Alice (person): One."]),
        ("`entity<|#|>Alice<|#|>Person<|#|>One.`", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.```", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.<|Complete|>", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.<|COMPLETE", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>One.|COMPLETE|>", ["Alice (person): One."]),
        # text after the marker is read
        (
            "entity<|#|>Alice<|#|>Person<|#|>One.\n<|COMPLETE|>\nentity<|#|>Ghost<|#|>Person<|#|>Two.",
            ["Alice (person): One."],
        ),
        ("entity<|#|>Alice<|#|>Person<|#|>One.<|COMPLETE|> Let me know!", ["Alice (person): One."]),
        # apostrophes, kana, Hangul, <br />
        ("entity<|#|>O’Brien<|#|>Person<|#|>One.", ["O’Brien (person): One."]),
        ("entity<|#|>東京 タワー<|#|>Location<|#|>One.", ["東京タワー (location): One."]),
        ("entity<|#|>서울 대학교<|#|>Organization<|#|>One.", ["서울대학교 (organization): One."]),
        ("entity<|#|>Alice<br /><|#|>Person<|#|>One.<br />", ["Alice (person): One."]),
        # a type with a bracket after its comma drops the entity
        ("entity<|#|>Alice<|#|>Person, (Author)<|#|>One.", ["Alice (person): One."]),
    ],
)
def test_where_lightrag_errs(text: str, expected: list[str]) -> None:
    assert records(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # dropped: an unusable name, end, type or description, and a relation of a thing to itself
        ("entity<|#|><|#|>Person<|#|>One.", []),
        ("entity<|#|>12<|#|>Person<|#|>One.", []),
        ("entity<|#|>Alice<|#|><|#|>One.", []),
        ("entity<|#|>Alice<|#|>Person (Author)<|#|>One.", ["Alice (person): One."]),
        ("entity<|#|>Alice<|#|>Person<|#|>", []),
        ("entity<|#|>Alice<|#|>Person", []),
        ("relation<|#|>A<|#|><|#|>k<|#|>d", []),
        ("relation<|#|>A<|#|>B<|#|>k<|#|>", []),
        ("relation<|#|>A<|#|>B<|#|>k<|#|>d<|#|>and more text", []),
        ('relation<|#|>A<|#|>"A"<|#|>k<|#|>d', []),
        ("relation<|#|>" + "x" * 256 + "y<|#|>" + "x" * 256 + "z<|#|>k<|#|>d", []),
        ("entity<|#|>Tokyo<|location|>A city.", []),
        # case makes another name, direction another pair, and only what is the same in all is left out
        ("relation<|#|>A<|#|>a<|#|>k<|#|>d", ["A > a [k] 1: d"]),
        (
            "relation<|#|>A<|#|>B<|#|>k<|#|>d\nrelation<|#|>B<|#|>A<|#|>k<|#|>d\nrelation<|#|>A<|#|>B<|#|>k<|#|>d",
            ["A > B [k] 1: d", "B > A [k] 1: d"],
        ),
        ("entity<|#|>A<|#|>t<|#|>d\nentity<|#|>A<|#|>t<|#|>e", ["A (t): d", "A (t): e"]),
        # blanks between and after the fields do not count
        ("entity<|#|><|#|>Alice<|#|>Person<|#|>One.<|#|>", ["Alice (person): One."]),
        # damaged delimiters
        ("entity<|##|>Alice<|#>Person<|#|One.", ["Alice (person): One."]),
        # the whole text is nothing
        ("", []),
        ("I found no entities.", []),
        ("<|COMPLETE|>", []),
    ],
)
def test_rules_of_records(text: str, expected: list[str]) -> None:
    assert records(text) == expected


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        # nothing but rows between two markers: the model closed each row or section
        ("A B ■ C ■", "A B C"),
        ("A ■ B ■ C ■", "A B C"),
        ("■ A ■", "A"),
        ("A ■ ``` ■", "A"),
        # rows after the last marker
        ("A ■ B", "A"),
        ("A ■ B ■ C", "A B"),
        # prose between two markers: the model went on after the end
        ("A ■ prose B ■", "A"),
        ("A ■ B prose ■", "A"),
        ("A ■ B ■ prose ■ C ■", "A B"),
    ],
)
def test_which_marker_ends_the_answer(lines: str, names: str) -> None:
    text = "\n".join(
        {"■": "<|COMPLETE|>", "prose": "Another passage:", "```": "```"}.get(word) or entities(word)[0]
        for word in lines.split()
    )
    found = parse_response(text)
    assert " ".join(entity.name for entity in found.entities) == names
    assert found.complete


def test_a_marker_in_a_description_ends_nothing() -> None:
    text = "entity<|#|>LightRAG<|#|>Method<|#|>It ends with a <|COMPLETE|> line.\n" + entities("Bob")[0]
    assert records(text) == ["LightRAG (method): It ends with a <|COMPLETE|> line.", "Bob (person): Bob is someone."]
    assert not parse_response(text).complete


def test_json_is_read_where_no_row_is() -> None:
    item = '{"name": "Alice", "type": "Person", "description": "Alice is an engineer."}'
    answer = f'{{"entities": [{item}], "relationships": []}}'
    assert parse_response(answer) == Records((ALICE,), (), complete=True)
    assert parse_response(f"<think>{{</think>{answer}") == Records((ALICE,), (), complete=True)
    assert parse_response(answer.replace("engineer", "</think>")).entities[0].description == "Alice is an </think>."
    assert parse_response(f"{answer[:-1]}\n<|COMPLETE|>") == Records((ALICE,), (), complete=True)
    assert parse_response(answer[:-1]) == Records((ALICE,), (), complete=False)
    assert parse_response(f"{ANSWER}{answer}").entities == (ALICE, ACME)
    assert parse_response('{"entities": []}') == Records((), (), complete=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\n".join(entities("A", "B")), "A"),
        ("\n".join(entities("A", "B")) + "\n", "A B"),
        ("\n".join(entities("A", "B")) + "\r\n", "A B"),
        ("\n".join(entities("A", "B")) + "\n<|COMPLETE|>", "A B"),
        ("\n".join(entities("A", "B")) + "<|COMPLETE|>", "A B"),
        ("\n".join(entities("A", "B")) + "\n<|COMPL", "A B"),
        ("\n".join(entities("A")) + "\nentity<|#|>B<|#|>Per", "A"),
        (r"\n".join(entities("A", "B", "C")), "A B"),
        ("\n".join(entities("A")), ""),
    ],
)
def test_a_truncated_answer_keeps_its_whole_rows(text: str, names: str) -> None:
    assert " ".join(entity.name for entity in parse_response(text, truncated=True).entities) == names


def answer_of(*found: EntityRecord | RelationRecord, complete: bool = True) -> Records:
    return Records(
        tuple(record for record in found if isinstance(record, EntityRecord)),
        tuple(record for record in found if isinstance(record, RelationRecord)),
        complete,
    )


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        # new names are added
        ("A1", "B1", "A1 B1"),
        # a longer description replaces, an equal or shorter one does not
        ("A1 B1", "A22", "B1 A22"),
        ("A22 B1", "A1", "A22 B1"),
        ("A1", "A2", "A1"),
        # the first description of each round decides for all of the name
        ("A1 A333", "A22", "A22"),
        ("A22 A1", "A1 A333", "A22 A1"),
        ("A1", "A22 A1", "A22 A1"),
        # names are exact
        ("A1", "a1", "A1 a1"),
        ("", "A1", "A1"),
        ("A1", "", "A1"),
    ],
)
def test_gleaning(first: str, second: str, merged: str) -> None:
    def as_entities(text: str) -> Records:
        return answer_of(*(EntityRecord(word[0], "t", word[1:]) for word in text.split()))

    def as_relations(text: str) -> Records:
        return answer_of(*(RelationRecord(word[0], "x", "k", word[1:]) for word in text.split()))

    assert merge_rounds([as_entities(first), as_entities(second)]) == as_entities(merged)
    assert merge_rounds([as_relations(first), as_relations(second)]) == as_relations(merged)


def test_gleaning_tells_directions_apart() -> None:
    there, back = RelationRecord("A", "B", "k", "d"), RelationRecord("B", "A", "k", "longer")
    assert merge_rounds([answer_of(there), answer_of(back)]).relations == (there, back)


def test_rounds_are_merged_in_turn() -> None:
    rounds = [answer_of(EntityRecord("A", "t", "x" * length), complete=length != 2) for length in (1, 3, 2)]
    assert merge_rounds(rounds) == Records((EntityRecord("A", "t", "xxx"),), (), complete=False)
    assert merge_rounds(rounds[:1]) == rounds[0]
    assert merge_rounds([]) == Records((), (), complete=True)


# Text that may stand in a field: words of many scripts and punctuation, but no piece of a delimiter, fence or bracket.
words = st.text(st.characters(codec="utf-8", exclude_characters='<>|#\\()[]{}*`"-•,;\r\n'), min_size=1, max_size=40)
record_words = st.sampled_from(
    ["Entity", "Relation", "relationship", "A legal entity", "No. 1 Relation", "8", "x entity 2"]
)
names = (words | record_words).map(normalise_name).filter(bool)
descriptions = (words | record_words).map(lambda text: normalise_description(" ".join(text.split()))).filter(bool)
types = st.sampled_from(["person", "entity", "人物", "event"])
whole_entities = st.builds(EntityRecord, names, types, descriptions)
whole_relations = st.builds(
    RelationRecord, names, names, words.map(normalise_keywords) | st.just(""), descriptions, st.just(1.0)
).filter(lambda relation: relation.src != relation.tgt)


@given(st.lists(whole_entities, max_size=6), st.lists(whole_relations, max_size=6), st.booleans())
def test_well_formed_records_round_trip(some: list[EntityRecord], others: list[RelationRecord], complete: bool) -> None:
    lines = [f"entity<|#|>{entity.name}<|#|>{entity.type}<|#|>{entity.description}" for entity in some]
    lines += [
        f"relation<|#|>{relation.src}<|#|>{relation.tgt}<|#|>{relation.keywords}<|#|>{relation.description}"
        for relation in others
    ]
    text = "\n".join([*lines, "<|COMPLETE|>"] if complete else lines)
    assert parse_response(text) == Records(tuple(dict.fromkeys(some)), tuple(dict.fromkeys(others)), complete)


pieces = st.lists(
    st.sampled_from(
        [
            *(
                "entity",
                "relation",
                "<|#|>",
                "<|#|>",
                "<|>",
                "<|",
                "|>",
                "#",
                "\n",
                " ",
                "\\n",
                "##",
                "A",
                "B.",
                "8",
                "(",
                ")",
            ),
            *("person", '"', "<|COMPLETE|>", "<think>", "</think>", "{", "}", "]", ",", ":", "東", "\x1f"),
            *('{"entities": [', '{"name": "A", "type": "t", '),
        ]
    )
    | st.text(max_size=5),
    max_size=60,
).map("".join)


@given(st.text() | pieces, st.booleans())
def test_any_text_yields_clean_records(text: str, truncated: bool) -> None:
    found = parse_response(text, truncated=truncated)
    for entity in found.entities:
        assert entity.name == normalise_name(entity.name) != ""
        assert entity.type
        assert entity.description == normalise_description(entity.description) != ""
    for relation in found.relations:
        assert relation.src == normalise_name(relation.src) != ""
        assert relation.tgt == normalise_name(relation.tgt) != ""
        assert relation.src != relation.tgt
        assert relation.description
        assert relation.weight >= 0


@pytest.mark.parametrize(
    "piece", ["<|", "|", "<|#|>", "entity<|#|>", "relation ", "<|COMPLETE|>", "<think>", '{"a":', "##", "("]
)
def test_long_repetitions_cost_only_themselves(piece: str) -> None:
    noise = piece * (100_000 // len(piece))
    found = parse_response(f"{entities('A')[0]}\nnoise {noise}\n{entities('B')[0]}")
    assert [entity.name for entity in found.entities][:1] == ["A"]
    assert piece == "<|COMPLETE|>" or [entity.name for entity in found.entities] == ["A", "B"]
