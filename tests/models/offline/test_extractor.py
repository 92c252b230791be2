import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.models.offline.extractor import extract
from lightrag_dagster.stages.extraction.records import Records
from tests.models.offline.passages import GERMAN, HANDBOOK, NOTES

TYPES = {"person", "organization", "location", "event", "date", "number", "title", "term", "other"}


def names(found: Records) -> list[str]:
    return [entity.name for entity in found.entities]


def test_a_handbook_page() -> None:
    assert names(extract(HANDBOOK)) == [
        *("Saltmarsh Robotics", "2014", "Ingrid Solheim", "Bergen", "Vacation policy", "Fatima Haddad", "People Team"),
        *("leave-register", "Oskar Lindgren", "Envoy"),
    ]


def test_field_notes() -> None:
    assert names(extract(NOTES)) == [
        *("Brack Fen", "Nadia Okafor", "Great Crested Grebes", "12 June 2023", "Ikeda", "Mill Creek"),
        "University of Calder",
    ]


def test_german_nouns_are_no_names() -> None:
    assert names(extract(GERMAN)) == [
        *("Handbuch Datenplattform", "Karlsruhe", "Team Hydrologie", "Thomas Brandl", "3. Mai 2024"),
    ]


@pytest.mark.parametrize(
    "text", ["", "all of this is written in lower case. nothing here is a name.", "# Summary\n\nIt is."]
)
def test_a_text_without_names_yields_nothing(text: str) -> None:
    assert extract(text) == Records((), (), complete=True)


def test_an_entity_is_described_by_the_first_three_sentences_that_mention_it() -> None:
    text = "We use Envoy. It is fast. Berg likes Envoy. See Envoy. Stop Envoy."
    described = {entity.name: entity.description for entity in extract(text).entities}
    assert described["Envoy"] == "We use Envoy. Berg likes Envoy. See Envoy."


def test_a_relation_has_the_words_between_and_the_sentence() -> None:
    relations = extract("Kestrel was written in Oslo by Anna Berg. It replaced Merlin.").relations
    found = {(one.src, one.tgt): (one.keywords, one.description) for one in relations}
    first = "Kestrel was written in Oslo by Anna Berg."
    assert found == {
        ("Oslo", "Anna Berg"): ("related", first),
        ("Oslo", "Merlin"): ("replaced", "It replaced Merlin."),
    }


def test_the_topic_stands_for_the_pronoun() -> None:
    pairs = [(one.src, one.tgt) for one in extract("# Kestrel\n\nIt runs in Oslo.").relations]
    assert pairs == [("Kestrel", "Oslo")]


def test_a_single_name_goes_by_the_longer_one_unless_two_share_it() -> None:
    assert names(extract("We met Anna Berg. Then Berg left and Anna stayed.")) == ["Anna Berg"]
    assert "Berg" in names(extract("We met Anna Berg and Olaf Berg. Then we saw Berg again."))


@given(
    st.text()
    | st.lists(st.sampled_from(["Anna", "of", "Oslo", "2014", ".", "#", "|", '"', "`x-y`", "\n", ":", "’s"])).map(
        " ".join
    )
)
def test_what_holds_for_every_text(text: str) -> None:
    found = extract(text)
    assert found == extract(text)
    keys = [name.casefold() for name in names(found)]
    assert len(keys) == len(set(keys))
    for entity in found.entities:
        assert entity.name.strip()
        assert "\n" not in entity.name + entity.description
        assert entity.description
        assert entity.type in TYPES
    pairs = [frozenset((one.src, one.tgt)) for one in found.relations]
    assert len(pairs) == len(set(pairs))
    for one in found.relations:
        assert one.src != one.tgt
        assert {one.src, one.tgt} <= set(names(found))
        assert one.keywords
        assert one.description


@pytest.mark.parametrize(
    "unit",
    ["A ", "a", "A.", ". ", ".", '"', "“A", "`a", "[", "[a](", "<a", "<!--", "*", "_a", "|a\n", "# A b\n", "```\n",
     "1.", "12 May ", "漢", "漢字的", "ア", "「", "Ministry of Food and ", "A's ", "> ", "Aa: ", "http://", "=\n",
     "# Aa Bb\n\nAa Bb is.\n\n"],
)  # fmt: skip
def test_no_input_takes_more_than_linear_time(unit: str) -> None:
    extract("A warm start in Oslo.")
    start = time.process_time()
    extract(unit * (20_000 // len(unit)))
    # Usual prose takes about 0.05 s for as much; anything quadratic takes several seconds.
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("She met Anna Vollmoor there.", "Anna Vollmoor", "person"),
        ("The lock keeper Hesper Vollmoor wrote it.", "Hesper Vollmoor", "person"),
        ("A report by Tollgate Telemetry.", "Tollgate Telemetry", "other"),
        ("Then Mr. Pym left.", "Pym", "person"),
        ("It joined the European Union.", "European Union", "organization"),
        ("We went to the University of Calder.", "University of Calder", "organization"),
        ("It flows into Mill Creek.", "Mill Creek", "location"),
        ("It flows into Lake Arun.", "Lake Arun", "location"),
        ("It is in Germany.", "Germany", "location"),
        ("After the Battle of Grünfeld it rained.", "Battle of Grünfeld", "event"),
        ("It was on 3 May 2024.", "3 May 2024", "date"),
        ("It costs $5 million.", "$5 million", "number"),
        ('They read "The Quiet Harbour" aloud.', "The Quiet Harbour", "title"),
        ("We call `db-primary-2` there.", "db-primary-2", "term"),
        ("田中さんは北京大学と深圳市にいる。", "田中", "person"),
        ("田中さんは北京大学と深圳市にいる。", "深圳市", "location"),
    ],
)
def test_types(text: str, name: str, expected: str) -> None:
    assert {entity.name: entity.type for entity in extract(text).entities}[name] == expected
