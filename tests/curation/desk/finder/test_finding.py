"""Names that may be one: which pairs meet, what makes them likely, and what never does."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightrag_dagster.curation.desk.finder.finding import MOST_PAIRS, Compared, compare
from lightrag_dagster.schemas import DUPLICATE_CANDIDATES

Row = dict[str, Any]
SENTENCE = "Prefixes HL, TB and LB name the works of Kessing, Sollen and Ammerforst."
KEEPER = "keeps the gauge of Halden Weir since the flood, and writes to Jonas Feld in Bergen about the sluice"


def entity(number: int, name: str, description: str = "", *, chunks: str = "", type_of: str = "person") -> Row:
    return {
        "entity_id": f"ent-{number:03}",
        "name": name,
        "type": type_of,
        "description": description,
        "chunk_ids": chunks.split(),
    }


def table(rows: list[Row]) -> pa.Table:
    texts = [(column, pa.string()) for column in ("entity_id", "name", "type", "description")]
    return pa.Table.from_pylist(rows, pa.schema([*texts, ("chunk_ids", pa.list_(pa.string()))]))


def others(count: int) -> list[Row]:
    """Return entities that have nothing in common with each other."""
    words = ("quern", "osprey", "tallow", "fjord", "gantry", "mistral", "zinnia", "lathe", "cobalt", "yarrow")
    return [
        entity(
            500 + at, f"{words[at % 10]}{at} {words[at // 10 % 10]}{at}", f"{words[at // 3 % 10]}{at} only, a person"
        )
        for at in range(count)
    ]


def met(compared: Compared) -> dict[frozenset[str], Row]:
    return {frozenset((row["name"], row["other"])): row for row in compared.rows.to_pylist()}


def verdict(compared: Compared, one: str, other: str) -> str | None:
    row = met(compared).get(frozenset((one, other)))
    return row["verdict"] if row else None


def test_a_misspelt_name_with_the_same_story_elsewhere_is_likely() -> None:
    rows = [entity(1, "Marta Lindqvist", KEEPER, chunks="a"), entity(2, "Marta Lindquist", KEEPER, chunks="b")]
    compared = compare(table(rows + others(60)))
    row = met(compared)[frozenset(("Marta Lindqvist", "Marta Lindquist"))]
    assert compared.rows.schema.equals(DUPLICATE_CANDIDATES)
    assert (row["verdict"], row["entity_id"], row["other_id"]) == ("likely", "ent-001", "ent-002")
    assert row["cosine"] is None
    assert set(row["found_by"]) == {"order", "words"}


@pytest.mark.parametrize("description", ["", "a person"])
def test_likeness_of_names_alone_makes_nothing_likely(description: str) -> None:
    rows = [entity(1, "Marta Lindqvist", description), entity(2, "Marta Lindquist", description)]
    assert verdict(compare(table(rows + others(60))), "Marta Lindqvist", "Marta Lindquist") != "likely"


def test_two_names_of_one_sentence_are_two() -> None:
    # What the offline rules make of a sentence: each of its names has the whole sentence as its description.
    prefixes = [
        entity(at, name, SENTENCE, chunks="a", type_of="organization") for at, name in enumerate(["HL", "TB", "LB"])
    ]
    bolts = [entity(at, f"Bolt {at}", "Bolt 7 and Bolt 8 hold the flange of the pump.", chunks="b") for at in (7, 8)]
    rows = [*prefixes, *bolts, *others(60)]
    relations = pa.table({"src_id": ["ent-000", "ent-000", "ent-007"], "tgt_id": ["ent-001", "ent-002", "ent-008"]})
    vectors = np.random.default_rng(1).normal(size=(len(rows), 64)).astype(np.float32)
    vectors[1], vectors[2], vectors[4] = vectors[0], vectors[0], vectors[3]
    assert met(compare(table(rows), relations, vectors)) == {}


def test_a_description_alone_makes_nothing_likely() -> None:
    rows = [entity(1, "Marta Lindqvist", KEEPER, chunks="a"), entity(2, "Keeper", KEEPER, chunks="b")]
    assert verdict(compare(table(rows + others(60))), "Marta Lindqvist", "Keeper") != "likely"


def test_numbers_that_differ_are_never_likely() -> None:
    rows = [entity(1, "Station 14", KEEPER, chunks="a"), entity(2, "Station 15", KEEPER, chunks="b")]
    assert verdict(compare(table(rows + others(60))), "Station 14", "Station 15") == "unclear"


@pytest.mark.long
def test_common_neighbours_speak_for_a_pair() -> None:
    rows = [entity(1, "Marta Lindqvist", "", chunks="a"), entity(2, "Marta Lindquist", "", chunks="b"), *others(60)]
    ends = [("ent-001", "ent-500"), ("ent-002", "ent-500"), ("ent-001", "ent-501"), ("ent-002", "ent-501")]
    relations = pa.table({"src_id": [one for one, _ in ends], "tgt_id": [other for _, other in ends]})
    found = [met(compare(table(rows), one)) for one in (None, relations)]
    pair = frozenset(("Marta Lindqvist", "Marta Lindquist"))
    assert found[1][pair]["score"] > found[0][pair]["score"]


def test_acronyms_meet_what_they_stand_for() -> None:
    rows = [
        entity(1, "Environmental Survey Office", KEEPER, chunks="a", type_of="organization"),
        entity(2, "ESO", KEEPER, chunks="b", type_of="organization"),
    ]
    row = met(compare(table(rows + others(60))))[frozenset(("Environmental Survey Office", "ESO"))]
    assert "acronym" in row["found_by"]


def test_pairs_that_are_kept_apart_do_not_meet() -> None:
    rows = [entity(1, "Marta Lindqvist", KEEPER, chunks="a"), entity(2, "Marta Lindquist", KEEPER, chunks="b")]
    assert met(compare(table(rows + others(20)), apart=[("ent-002", "ent-001")])) == {}


@pytest.mark.long
@pytest.mark.parametrize("rows", [[], [entity(1, "Bergen")]])
def test_one_entity_or_none_has_no_pairs(rows: list[Row]) -> None:
    vectors = np.ones((len(rows), 8), dtype=np.float32)
    assert compare(table(rows), None, vectors) == compare(table(rows))
    assert compare(table(rows)).rows.num_rows == 0


def test_names_without_letters_are_names_too() -> None:
    rows = [entity(1, "§§", KEEPER, chunks="a"), entity(2, "…", KEEPER, chunks="b"), entity(3, "", "")]
    assert len(met(compare(table(rows + others(10))))) <= 3


def test_pairs_beyond_the_most_of_an_entity_are_counted() -> None:
    rows = [entity(at, f"Halden {at}", f"lock{at % 3} weir{at % 2} gate{at % 5}") for at in range(90)]
    compared = compare(table(rows))
    assert compared.cut > 0
    assert compared.cut + compared.outdone + compared.unlikely + compared.rows.num_rows <= 90 * 89 // 2


NAMES = st.lists(
    st.tuples(
        st.text("abAB -.1", min_size=1, max_size=8),
        st.sampled_from(["", "keeps the gauge", "keeps the lock of 1903"]),
        st.sampled_from(["person", "place"]),
    ),
    max_size=40,
)


@pytest.mark.long
@settings(max_examples=10)
@given(NAMES, st.integers(0, 100))
def test_order_makes_no_difference_and_equal_names_meet(names: list[tuple[str, str, str]], seed: int) -> None:
    rows = [entity(at, name, text, type_of=kind) for at, (name, text, kind) in enumerate(names)]
    vectors = np.random.default_rng(seed).normal(size=(len(rows), 8)).astype(np.float32)
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    compared = compare(table(rows), None, vectors)
    assert compare(table([rows[at] for at in order]), None, vectors[order]) == compared

    pairs = [(row["entity_id"], row["other_id"]) for row in compared.rows.to_pylist()]
    assert all(one < other for one, other in pairs)
    assert len(set(pairs)) == len(pairs)
    assert max(Counter(one for pair in pairs for one in pair).values(), default=0) <= MOST_PAIRS
    equal = Counter(row["name"].lower() for row in rows)
    for one in rows:
        for other in rows:
            same = one["name"].lower() == other["name"].lower() and one["entity_id"] < other["entity_id"]
            if same and equal[one["name"].lower()] <= 5:
                assert (one["entity_id"], other["entity_id"]) in pairs
