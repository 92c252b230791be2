"""Phrases that become entities: which, when, and the same in any order and number of parts."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster.indexes.text_arrays import counted_terms
from lightrag_dagster.settings.sections import TermsMode
from tests.stages.merging.tables import (
    Row,
    Summariser,
    Tables,
    crowded_chunks,
    entity,
    merged_from,
    nameless_chunks,
    relation,
    write,
)


def merged(folder: Path, rows: list[Row], named: list[Row], terms: TermsMode, bits: int = 0) -> Tables:
    return merged_from(write(folder, rows, named, []), folder, Summariser(), terms=terms, bits=bits)


def names(tables: Tables) -> set[str]:
    return set(tables.entities["name"].to_pylist())


@pytest.fixture
def rows() -> list[Row]:
    return nameless_chunks()


def test_a_phrase_of_at_least_three_chunks_and_few_of_all_is_an_entity(tmp_path: Path, rows: list[Row]) -> None:
    found = merged(tmp_path, rows, [], "on")
    # `magnetic tape` is in too many, `carrier wave` and `detector` only in the longer one, others in fewer than three,
    # and `rapid detector` begins with a word of degree
    assert names(found) == {"carrier wave detector"}
    [term] = found.entities.to_pylist()
    assert (term["type"], term["chunk_count"], term["mention_count"]) == ("term", 3, 3)
    assert term["summary_recipe"] is None


def test_a_counted_term_is_known_as_one_by_any_type(tmp_path: Path, rows: list[Row]) -> None:
    named = [entity("b", "c001", 0, "Force Majeure", "term", "A clause of contracts.")]
    inputs = write(tmp_path, rows, named, [])
    found = merged_from(inputs, tmp_path, Summariser(), terms="on", types={"map": {"term": "concept"}}).entities
    assert found.filter(counted_terms(found))["name"].to_pylist() == ["carrier wave detector"]
    assert {*found["type"].to_pylist()} == {"concept"}


@pytest.mark.parametrize("spelt", ["carrier wave detector", "carrier wave’s detector"])
def test_a_phrase_that_relations_name_is_no_term(tmp_path: Path, rows: list[Row], spelt: str) -> None:
    for row in rows:
        row["content"] = row["content"].replace("carrier wave", spelt.removesuffix(" detector"))
    name = spelt.title().replace("’S", "'s")
    related = [relation("b", "c001", 0, name, "Jonas Feld", "work", "He opened it.")]
    found = merged_from(write(tmp_path, rows, [], related), tmp_path, Summariser(), terms="on").entities
    assert {row["name"]: row["description"] for row in found.to_pylist()} == dict.fromkeys(
        (name, "Jonas Feld"), "He opened it."
    )


@pytest.mark.long
def test_names_stay_what_they_are_and_terms_follow_them(tmp_path: Path, rows: list[Row]) -> None:
    named = [entity("b", "c001", 0, "Carrier Wave Detector", "artifact", "A detector.")]
    found = merged(tmp_path, rows, named, "on")
    assert found.entities["type"].to_pylist() == ["artifact"]
    assert found.entities["mention_count"].to_pylist() == [1]


@pytest.mark.long
def test_there_are_at_most_as_many_terms_as_chunks_or_twice_as_many_as_names(tmp_path: Path) -> None:
    rows = crowded_chunks()
    found = merged(tmp_path, rows, [], "on")
    assert len(found.entities) == len(rows)
    assert "carrier wave detector" in names(found)  # those of several words before all others
    named = [entity("b", "c001", n, f"Name {n}", "person", "A name.") for n in range(35)]
    assert found == merged(tmp_path, rows, [entity("b", "c001", 0, "No Mention", "other", "", key="old")], "on")
    assert len(names(merged(tmp_path, rows, named, "on"))) == 35 + 70


@pytest.mark.long
@pytest.mark.parametrize(("nameless", "kept"), [(20, False), (21, True)])
def test_auto_keeps_terms_where_a_third_of_the_chunks_has_no_entity(
    tmp_path: Path, rows: list[Row], nameless: int, *, kept: bool
) -> None:
    named = [entity(row["source"], row["chunk_id"], 0, "Bergen", "location", "A city.") for row in rows[nameless:]]
    assert ("carrier wave detector" in names(merged(tmp_path, rows, named, "auto"))) == kept
    assert "carrier wave detector" in names(merged(tmp_path, rows, named, "on"))
    assert names(merged(tmp_path, rows, named, "off")) == {"Bergen"}


@pytest.mark.long
@pytest.mark.parametrize("made", [nameless_chunks, crowded_chunks])
def test_order_history_and_parts_change_nothing(tmp_path: Path, made: Callable[[], list[Row]]) -> None:
    rows = made()
    whole = merged(tmp_path, rows, [], "on")
    assert whole == merged(tmp_path, rows, [], "on", bits=3)
    shuffled = random.Random(1).sample(rows, len(rows))
    assert whole == merged(tmp_path, shuffled, [], "on", bits=1)


@pytest.mark.long
def test_a_passage_that_comes_twice_counts_once(tmp_path: Path, rows: list[Row]) -> None:
    twice = [*rows, rows[20] | {"path": "zzz.txt", "chunk_index": 4}]
    assert merged(tmp_path, twice, [], "on").entities["mention_count"].to_pylist() == [3]
