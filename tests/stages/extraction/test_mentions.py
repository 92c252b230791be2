"""From extractions to mentions, through real tables."""

import pyarrow as pa
import pytest

from lightrag_dagster.schemas import ENTITY_MENTIONS, EXTRACTIONS, PARSED, RELATION_MENTIONS
from lightrag_dagster.stages.extraction.echoes import Echoes
from lightrag_dagster.stages.extraction.mentions import parse_extractions, unreadable_chunks
from lightrag_dagster.stages.prompts import load_prompts

FIRST = """\
entity<|#|>Alice<|#|>Person<|#|>An engineer.
relation<|#|>Alice<|#|>Acme<|#|>work<|#|>She works there.
entity<|#|>Acme<|#|>Organization<|#|>It makes anvils.
<|COMPLETE|>"""
GLEANED = """\
entity<|#|>Alice<|#|>Person<|#|>An engineer at Acme.
entity<|#|>Bob<|#|>Person<|#|>A smith.
relation<|#|>Acme<|#|>Bob<|#|>supply<|#|>He supplies Acme.<|#|>
<|COMPLETE|>"""


def extractions(*rows: tuple[str, str, list[str]]) -> pa.Table:
    """Return EXTRACTIONS with one row a (chunk, status, responses)."""
    columns = {
        "source": ["notes"] * len(rows),
        "chunk_id": [chunk for chunk, _, _ in rows],
        "extraction_key": [f"key-{chunk}" for chunk, _, _ in rows],
        "model": ["m"] * len(rows),
        "responses": [responses for _, _, responses in rows],
        "rounds": [len(responses) for _, _, responses in rows],
        "status": [status for _, status, _ in rows],
        "error": [None] * len(rows),
        "error_kind": [None] * len(rows),
        "cached_input_tokens": [0] * len(rows),
        "finish_reason": ["stop"] * len(rows),
        "input_tokens": [0] * len(rows),
        "output_tokens": [0] * len(rows),
        "cost_usd": [0.0] * len(rows),
        "recipe": ["r"] * len(rows),
    }
    return pa.table(columns, schema=EXTRACTIONS)


def test_mentions_of_all_rounds() -> None:
    entities, relations, _ = parse_extractions(extractions(("c1", "ok", [FIRST, GLEANED]), ("c2", "ok", [FIRST])))
    assert entities.schema.equals(ENTITY_MENTIONS, check_metadata=True)
    assert relations.schema.equals(RELATION_MENTIONS, check_metadata=True)
    assert [tuple(row.values()) for row in entities.to_pylist()] == [
        ("notes", "c1", "key-c1", 0, "Acme", "organization", "It makes anvils."),
        ("notes", "c1", "key-c1", 1, "Alice", "person", "An engineer at Acme."),
        ("notes", "c1", "key-c1", 2, "Bob", "person", "A smith."),
        ("notes", "c2", "key-c2", 0, "Alice", "person", "An engineer."),
        ("notes", "c2", "key-c2", 1, "Acme", "organization", "It makes anvils."),
    ]
    assert [tuple(row.values()) for row in relations.to_pylist()] == [
        ("notes", "c1", "key-c1", 0, "Alice", "Acme", "work", "She works there.", 1.0),
        ("notes", "c1", "key-c1", 1, "Acme", "Bob", "supply", "He supplies Acme.", 1.0),
        ("notes", "c2", "key-c2", 0, "Alice", "Acme", "work", "She works there.", 1.0),
    ]


@pytest.mark.parametrize(
    ("status", "names"),
    [("ok", ["Alice", "Acme"]), ("truncated", ["Alice"]), ("failed", [])],
)
def test_status_decides_what_is_read(status: str, names: list[str]) -> None:
    cut = FIRST[: FIRST.index(" anvils")]
    entities, relations, _ = parse_extractions(extractions(("c1", status, [cut])))
    assert entities["name"].to_pylist() == names
    assert relations.num_rows == bool(names)


def test_a_whole_first_round_of_a_truncated_extraction_is_kept_whole() -> None:
    entities = parse_extractions(extractions(("c1", "truncated", [FIRST, GLEANED[: GLEANED.index(" smith")]]))).entities
    assert entities["name"].to_pylist() == ["Acme", "Alice"]


def test_nothing_yields_empty_tables() -> None:
    for table in (extractions(), extractions(("c1", "ok", [])), extractions(("c1", "ok", ["", "No entities."]))):
        entities, relations, _ = parse_extractions(table)
        assert entities.equals(ENTITY_MENTIONS.empty_table())
        assert relations.equals(RELATION_MENTIONS.empty_table())


ECHO = "entity<|#|>Person A<|#|>Person<|#|>Person A leads Company B.\n"
GARBAGE = "entity<|#|>\nrelation<|#|>A<|#|>\nrelation<|#|>B<|#|>\n<|COMPLETE"


def test_a_row_counts_what_became_of_each_extraction() -> None:
    loop = "relation<|#|>Acme<|#|>ACME<|#|>k<|#|>One name.\n" + FIRST
    table = extractions(
        ("c1", "ok", [FIRST, GLEANED]),
        ("c2", "ok", [FIRST, GARBAGE]),
        ("c3", "ok", [GARBAGE]),
        ("c4", "truncated", [FIRST[: FIRST.index(" anvils")]]),
        ("c5", "failed", [GARBAGE]),
        ("c6", "ok", [loop]),
        ("c7", "ok", ["entity<|#|>\n" + GARBAGE]),
    )
    made = parse_extractions(table)
    assert made.parsed.schema.equals(PARSED, check_metadata=True)
    assert [tuple(row.values()) for row in made.parsed.to_pylist()] == [
        ("notes", "c1", "key-c1", 3, 2, 0, None),
        ("notes", "c2", "key-c2", 2, 1, 3, "relation with 3 of 5 fields"),
        ("notes", "c3", "key-c3", 0, 0, 3, "relation with 3 of 5 fields"),
        ("notes", "c4", "key-c4", 1, 1, 0, None),
        ("notes", "c6", "key-c6", 2, 1, 1, "relation of an entity with itself"),
        ("notes", "c7", "key-c7", 0, 0, 4, "entity with 2 of 4 fields"),  # of reasons as frequent, the first
    ]
    for counted, mentions in (("entities", made.entities), ("relations", made.relations)):
        assert sum(made.parsed[counted].to_pylist()) == mentions.num_rows
    assert unreadable_chunks(table).to_pylist() == ["c3", "c7"]
    assert unreadable_chunks(table.slice(0, 0)).to_pylist() == []


@pytest.mark.parametrize(
    ("model", "answers", "passage", "found"),
    [
        ("m", [ECHO + FIRST], "Acme makes anvils.", (2, 1, "row that repeats an example of the prompt")),
        ("m", [ECHO], "Acme makes anvils.", (0, 1, "row that repeats an example of the prompt")),
        ("m", [ECHO], "Person A leads Company B.", (1, 0, None)),
        ("m", ["<|COMPLETE|>", '{"entities": [], "relationships": []}'], "Acme.", (0, 0, "answer without a row")),
        ("offline/rules-8", ["<|COMPLETE|>"], "Acme.", (0, 0, None)),
        ("offline/rules-8", [ECHO], "Acme.", (1, 0, None)),
    ],
)
def test_answers_of_a_model_that_repeat_the_prompt_or_say_nothing_are_counted(
    model: str, answers: list[str], passage: str, found: tuple[int, int, str | None]
) -> None:
    rows, passages = extractions(("c1", "ok", answers)), pa.table({"chunk_id": ["c1"], "content": [passage]})
    rows = rows.set_column(rows.schema.get_field_index("model"), rows.schema.field("model"), [[model]])
    parsed = parse_extractions(rows, passages, Echoes.of(load_prompts(None))).parsed.to_pylist()[0]
    assert (parsed["entities"], parsed["rejected_rows"], parsed["reason"]) == found


@pytest.mark.long
def test_many_chunks_keep_their_order() -> None:
    rows = [(f"c{number:05}", "ok", [f"entity<|#|>N{number}<|#|>Concept<|#|>d"]) for number in range(9000)]
    entities = parse_extractions(extractions(*rows)).entities
    assert entities["chunk_id"].to_pylist() == [chunk for chunk, _, _ in rows]
    assert entities["name"].to_pylist() == [f"N{number}" for number in range(9000)]
    assert set(entities["mention_index"].to_pylist()) == {0}


LOOSE = "entity<|#|>Alice<|#|>Person<|#|>An engineer.\n{}\n<|COMPLETE|>"


@pytest.mark.parametrize(
    ("line", "passages", "description"),
    [
        ("She makes anvils at Acme.", {"c1": "Alice of Acme makes anvils."}, "An engineer. She makes anvils at Acme."),
        ("No further names were found.", {"c1": "Alice of Acme makes anvils."}, "An engineer."),
        ("She makes anvils at Acme.", {"c2": "Another text."}, "An engineer. She makes anvils at Acme."),
        ("She makes anvils at Acme.", None, "An engineer. She makes anvils at Acme."),
    ],
)
def test_parsing_gets_the_text_of_the_chunk(line: str, passages: dict[str, str] | None, description: str) -> None:
    table = passages and pa.table({"chunk_id": list(passages), "content": list(passages.values())})
    entities, _, _ = parse_extractions(extractions(("c1", "ok", [LOOSE.format(line)])), table or None)
    assert entities["description"].to_pylist() == [description]


@pytest.mark.parametrize(("model", "kept"), [("m", 400), ("offline/rules-8", 450), ("mentions/rules-5", 450)])
def test_answers_of_rules_have_as_many_rows_as_they_find(model: str, kept: int) -> None:
    answer = "\n".join(f"entity<|#|>E{number}<|#|>Person<|#|>d" for number in range(450))
    rows = extractions(("c1", "ok", [answer]))
    rows = rows.set_column(rows.schema.get_field_index("model"), rows.schema.field("model"), [[model]])
    entities, _, parsed = parse_extractions(rows)
    assert (entities.num_rows, parsed["rejected_rows"].to_pylist()) == (kept, [int(kept < 450)])
