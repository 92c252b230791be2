import hashlib
import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lightrag_dagster.core import identity

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def test_ids_are_the_same_forever() -> None:
    """What a home holds is named by these: a change here orphans all of it."""
    assert identity.document_id("handbook", "a/b.md") == "doc-f0ea14f2c1d1b95e12cfcbf0a82e3624"
    assert identity.chunk_id("text", "A > B") == "chunk-bf87bb325935f81a2cd0b9525074eea6"
    assert identity.entity_id("Marta Lindqvist") == "ent-2eeeec45c5569e0aacecca5f1b278713"
    assert identity.relation_id("ent-a", "ent-b") == "rel-e99e21fb7fea19adcb3015cd63279620"
    assert identity.extraction_key("chunk-1", "f") == "9257d103b72b7bf0bc6e8b64a7c34b29"
    assert identity.embedding_key("e", "text") == "ea96adff729921d14661b5de8872cc35"


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_different_fields_have_different_digests(first: list[str], second: list[str]) -> None:
    assert (identity.digest(*first) == identity.digest(*second)) == (first == second)


@given(st.lists(TEXTS))
def test_texts_are_hashed_as_json(fields: list[str]) -> None:
    encoded = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    assert identity.digest(*fields) == hashlib.sha256(encoded).hexdigest()[:32]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a",), ("a", "")),
        ((["a"], "b"), (["a", "b"],)),
        (("1",), (1,)),
        (('a","b',), ("a", "b")),
    ],
)
def test_fields_do_not_run_together(first: tuple[object, ...], second: tuple[object, ...]) -> None:
    assert identity.digest(*first) != identity.digest(*second)


def test_a_lone_surrogate_has_a_digest() -> None:
    assert identity.digest("\ud800") != identity.digest("\ud801")


def test_a_chunk_is_its_text_heading_and_context() -> None:
    assert identity.chunk_id("text", "A", None) == identity.chunk_id("text", "A", "") == identity.chunk_id("text", "A")
    contexts = [identity.chunk_id("text", "A", context) for context in (None, "| a |", "| b |")]
    assert len(set(contexts)) == 3
    assert identity.chunk_id("text", None) == identity.chunk_id("text", "")
    assert identity.chunk_id("text", "A") != identity.chunk_id("text", "B") != identity.chunk_id("text", None)


@given(TEXTS, st.none() | TEXTS, st.none() | TEXTS)
@example('a "quote" \\ and\nlines', None, None)
@example("a tab\tand a \x01", "A", "| a |")
def test_a_chunk_id_is_a_digest(content: str, heading: str | None, context: str | None) -> None:
    fields = [content, heading or "", *([context] if context else [])]
    assert identity.chunk_id(content, heading, context) == f"chunk-{identity.digest(*fields)}"


@pytest.mark.parametrize(
    ("spelling", "key"),
    [
        ("Marta Lindqvist", "marta lindqvist"),
        ("  MARTA \t\n Lindqvist ", "marta lindqvist"),
        ('"Marta" ‘Lindqvist’', "marta lindqvist"),
        ("O'Brien", "obrien"),
        ("O’Brien", "obrien"),
        ("Straße", "strasse"),
        ("ＡＢＣ", "abc"),
        ("ﬁle", "file"),
        ("Cafe\u0301", "café"),
        ("O´Brien", "obrien"),
        ("Лук\u02bcян", "лукян"),
        ("צה\u05f4ל", "צהל"),
        ("‹Orrin›", "orrin"),
        ("COVID\u201119", "covid-19"),
        ("COVID\u201019", "covid-19"),
        ("1914–1918", "1914-1918"),
        ("İZMİR", "izmir"),
        ("İzmir", "izmir"),
        ("''", "''"),
        ("", ""),
    ],
)
def test_spellings_of_one_name(spelling: str, key: str) -> None:
    assert identity.name_key(spelling) == key


@given(TEXTS.filter(lambda name: "ı" not in identity.name_key(name)))  # its capital is that of i
def test_case_and_spacing_make_no_other_entity(name: str) -> None:
    assert identity.entity_id(f"  {name}\n") == identity.entity_id(name)
    assert identity.entity_id(identity.name_key(name).upper().lower()) == identity.entity_id(
        identity.name_key(name).lower()
    )


@given(st.from_regex(r"ent-[0-9a-f]{4}", fullmatch=True), st.from_regex(r"ent-[0-9a-f]{4}", fullmatch=True))
def test_a_relation_has_no_direction(first: str, second: str) -> None:
    assert identity.relation_id(first, second) == identity.relation_id(second, first)


ROWS = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [["p"], [], ["q", "r"]]})


def test_a_version_is_of_rows_and_schema_alone() -> None:
    version = identity.table_version(ROWS)
    assert len(version) == 32
    in_pieces = pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1, 1), ROWS.slice(2)])
    described = ROWS.replace_schema_metadata({"note": "x"})
    assert identity.table_version(in_pieces) == identity.table_version(described) == version


@pytest.mark.parametrize(
    "other",
    [
        ROWS.slice(1),
        ROWS.take([1, 0, 2]),
        ROWS.rename_columns(["a", "b", "d"]),
        ROWS.set_column(0, "a", pa.array([1, 2, 3], pa.int32())),
        ROWS.set_column(1, "b", pa.array(["x", "", "z"])),
    ],
)
def test_other_rows_are_another_version(other: pa.Table) -> None:
    assert identity.table_version(other) != identity.table_version(ROWS)


def test_a_slice_of_a_larger_table_is_the_same_version() -> None:
    larger = pa.concat_tables([ROWS, ROWS]).combine_chunks()
    assert identity.table_version(larger.slice(3)) == identity.table_version(ROWS)
