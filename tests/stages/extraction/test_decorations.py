"""Rows as models decorate them: bullets, labels, stray closers, cut markers, HTML entities, surplus fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.stages.extraction.parsing import EntityRecord, Records, RelationRecord, parse_response

ENTITY = "entity<|#|>Alice<|#|>Person<|#|>Alice is an engineer."
RELATION = "relation<|#|>Alice<|#|>Acme<|#|>work<|#|>Alice works at Acme."
ALICE = EntityRecord("Alice", "person", "Alice is an engineer.")
WORKS = RelationRecord("Alice", "Acme", "work", "Alice works at Acme.")
BOTH = Records((ALICE,), (WORKS,), complete=False)

BULLETS = [
    *("→", "・", "‣", "–", "—", "•", "*", "-", "+", "◦", "▪", "●", "■", "►", "➤", "✓", "✅", "👉", "※", "·", "§", "–>"),
    *("1.", "2)", "(3)", "4:", "[5]", "6 -", "1.2.", "a.", "b)", "(c)", "D.", "iv.", "(ii)", "①", "一、"[1:]),
]
LABELS = [
    *(
        "record:",
        "Record 1:",
        "the",
        "The",
        "a",
        "an",
        "row:",
        "Row 2 -",
        "**Record**:",
        "[record]",
        "line 3:",
        "item:",
    ),
    *("output:", "new", "next", "- record:", "1. the", "a) record:", "named", "Extracted", "tuple:"),
]
TAGS = ["{}:", "{} :", "{}：", "**{}**:", "{} 1:", "[{}]", "<{}>", "{} →", "{} -", "`{}`", "{}=", "#{}", "{} #2"]


@pytest.mark.parametrize("bullet", BULLETS)
@pytest.mark.parametrize("space", ["", " "])
def test_any_bullet_may_begin_a_row(bullet: str, space: str) -> None:
    assert parse_response(f"{bullet}{space}{ENTITY}\n{bullet}{space}{RELATION}") == BOTH


@pytest.mark.parametrize("label", LABELS)
def test_a_label_may_stand_before_the_tag(label: str) -> None:
    assert parse_response(f"{label} {ENTITY}\n{label} {RELATION}") == BOTH


@pytest.mark.parametrize("tag", TAGS)
def test_the_tag_may_be_decorated(tag: str) -> None:
    entity, relation = (
        ENTITY.replace("entity", tag.format("entity")),
        RELATION.replace("relation", tag.format("relation")),
    )
    assert parse_response(f"{entity}\n{relation}") == BOTH


@pytest.mark.parametrize(
    ("entity", "relation"),
    [
        ("entities", "relations"),
        ("Entities", "Relationships"),
        ("ENTITIES:", "RELATIONS:"),
        ("- entities", "- relationships"),
    ],
)
def test_the_tag_may_be_plural(entity: str, relation: str) -> None:
    assert parse_response(f"{ENTITY.replace('entity', entity)}\n{RELATION.replace('relation', relation)}") == BOTH


@pytest.mark.parametrize("colon", [":", ": ", " : ", "：", ":\t"])
def test_a_colon_may_stand_for_the_first_delimiter(colon: str) -> None:
    entity, relation = ENTITY.replace("<|#|>", colon, 1), RELATION.replace("<|#|>", colon, 1)
    assert parse_response(f"{entity}\n- {relation}") == BOTH


@pytest.mark.parametrize(
    "delimiter",
    [
        *("<|#|}", "<|#|＞", "<|#|)", "<|#|]", "<|#|〉", "<|#|>}", "<|#|>＞", "<|#|>)", "<|#|>]", "<|#|> }", "<|#|}>"),
        *("<|#|＞ ", "＜|#|＞", "<｜#｜>", "＜｜＃｜＞", "&lt;|#|&gt;", "<|#}", "<|#＞"),
    ],
)
def test_a_stray_closer_after_a_delimiter_is_dropped(delimiter: str) -> None:
    assert parse_response(f"{ENTITY}\n{RELATION}".replace("<|#|>", delimiter)) == BOTH


@pytest.mark.parametrize(
    "end",
    [
        *("<|C", "<|COMP", "<|COMPL", "<|COMPLET", "<|COMPLETE", "<|compl", "<| COMPL", "<|COMPL\n", "\n<|COMPL"),
        *(" <|COMPL", "\n\n<|COMPLET ", "<|#|><|COMPLETE|>", "<|#|><|COMPL", "<|#|>COMPLETE", "<|#|>COMPLETE<|#|>"),
        *("<|#|>COMPLETE|>", "<|#|>\n<|COMPLETE|>", "\n<|#|><|COMPLETE|>", "\n<|#|>COMPLETE<|#|>", "<|#|COMPLETE|>"),
        *("\n<|COMPLETE<|#|>", "<|COMPLETE|><|#|>", "<|#|> <|COMPLETE|>", "&lt;|COMPLETE|&gt;", "<｜COMPLETE｜>"),
    ],
)
def test_a_marker_cut_in_half_or_set_off_by_a_delimiter_ends_the_answer(end: str) -> None:
    assert parse_response(f"{RELATION}\n{ENTITY}{end}") == Records((ALICE,), (WORKS,), complete=True)
    assert parse_response(f"{ENTITY}\n{RELATION}{end}") == Records((ALICE,), (WORKS,), complete=True)


@pytest.mark.parametrize("end", ["<|", "<", "<|#", "<|#|", "<|#|>", "|"])
def test_the_start_of_a_mark_at_the_very_end_is_dropped(end: str) -> None:
    assert parse_response(f"{ENTITY}\n{RELATION}{end}") == BOTH


def test_a_word_that_begins_like_the_marker_is_text() -> None:
    text = "entity<|#|>Flag<|#|>Concept<|#|>It is written as <|COMPL and no more."
    assert parse_response(text).entities == (EntityRecord("Flag", "concept", "It is written as <|COMPL and no more."),)
    assert parse_response("entity<|#|>Build<|#|>Concept<|#|>COMPLETE\n" + ENTITY).entities[0].description == "COMPLETE"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *(("Wait&hellip;", "Wait…"), ("Wait &amp;hellip;", "Wait …"), ("&hellip; and so on.", "… and so on.")),
        *(
            ("caf&eacute;", "café"),
            ("AT&amp;T", "AT&T"),
            ("AT&amp;amp;T", "AT&T"),
            ("&#8364;5;", "€5"),
            ("&#x2014;x", "-x"),
        ),
        *(
            ("R&D; more", "R&D; more"),
            ("a &lt; b", "a < b"),
            ("5&nbsp;km", "5\xa0km"),
            ("x&hellip;)", "x…"),
            ("one;", "one"),
        ),
    ],
)
def test_html_entities_are_decoded_fully(written: str, read: str) -> None:
    assert [found.description for found in parse_response(f"entity<|#|>A<|#|>t<|#|>{written}").entities] == [read]


@pytest.mark.parametrize(
    ("kind", "fields", "description"),
    [
        # short: dropped
        ("Person", ["Alice is an engineer.", "high"], "Alice is an engineer."),
        ("Person", ["Alice is an engineer.", "0.9"], "Alice is an engineer."),
        ("Person", ["Alice is an engineer.", "confidence: high"], "Alice is an engineer."),
        ("Person", ["Alice is an engineer.", "chunk-1"], "Alice is an engineer."),
        ("Person", ["Alice is an engineer.", "Two."], "Alice is an engineer."),
        ("Person", ["Alice is an engineer.", "Acme", "8"], "Alice is an engineer."),
        # of a type that no other row has, all the same
        ("Welder", ["Alice is an engineer.", "high"], "Alice is an engineer."),
        # long: the description went on after a stray delimiter
        ("Person", ["Alice is an engineer.", "She lives in Oslo."], "Alice is an engineer. She lives in Oslo."),
    ],
)  # fmt: skip
def test_a_short_field_after_an_entitys_description_is_dropped(kind: str, fields: list[str], description: str) -> None:
    found = parse_response("<|#|>".join(["entity", "Alice", kind, *fields]))
    assert found.entities == (EntityRecord("Alice", kind.lower(), description),)
    assert found.relations == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("They met in Oslo.", "friendship"),
        ("They met.", "friendship, long acquaintance"),
        ("They met.", "a very long list, of many keywords, one after another"),
        ("Alice has worked at Acme since 1990", "employment"),
        ("二人はオスロで会った。", "友情、長年の知り合い、仕事仲間"),
        ("Alice leads Acme, which makes anvils.", "leadership, industry."),
    ],
)
@pytest.mark.parametrize("strength", ["8", "0.75", '"9"'])
def test_in_a_relation_with_a_strength_the_description_is_the_field_that_reads_like_one(
    one: str, other: str, strength: str
) -> None:
    for third, fourth in ((one, other), (other, one)):
        found = parse_response("<|#|>".join(["relation", "A", "B", third, fourth, strength])).relations
        assert [relation.description for relation in found] == [one.strip()]


decorations = st.tuples(
    st.sampled_from(["", *BULLETS]),
    st.sampled_from(["", *LABELS]),
    st.sampled_from(["{}", *TAGS]),
    st.sampled_from(["", ")", "**", "`", " |", ",", "##", "\\n", "```"]),
)
delimiters = st.sampled_from(["<|#|>", "<|#|}", "<|#|＞", " <|#|> ", "<|#|>)", "<|##|>", "<|>"])
ends = st.sampled_from(["", "\n<|COMPLETE|>", "<|COMPL", "<|#|><|COMPLETE|>", "\n```", "\n\nI hope this helps!"])


@given(decorations, decorations, delimiters, ends)
def test_a_canonical_row_survives_its_decorations(
    first: tuple[str, ...], second: tuple[str, ...], delimiter: str, end: str
) -> None:
    lines = []
    for (bullet, label, tag, close), row in ((first, ENTITY), (second, RELATION)):
        word = row.partition("<|#|>")[0]
        lines.append(f"{bullet} {label} {row.replace(word, tag.format(word), 1)}{close}".replace("<|#|>", delimiter))
    found = parse_response("\n".join(lines) + end)
    assert (found.entities, found.relations) == ((ALICE,), (WORKS,))


@given(
    st.lists(
        st.sampled_from([*BULLETS, *LABELS, ENTITY, RELATION, "<|#|}", "<|COMPL", "&hellip;", "entity:", "<|#|>", "\n"])
        | st.text(max_size=4),
        max_size=30,
    ).map(" ".join)
)
def test_parsing_never_raises(text: str) -> None:
    found = parse_response(text)
    assert all(entity.name and entity.description for entity in found.entities)
    assert all(relation.src != relation.tgt for relation in found.relations)
