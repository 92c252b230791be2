import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightrag_dagster.offline.entity_types import OTHER, TYPES
from lightrag_dagster.offline.extractor import Extracted, extract, find_names
from tests.offline.passages import GERMAN, HANDBOOK, NOTES

PIECES = [
    *("Anna", "of", "Oslo", "2014", ".", "#", "|", ":", "(", ")", "’s", "`x-y`", '"', "\n", "The", "Tannery", "is a"),
    *("Loggers", "Logger", "Officer", "HL-0640", "田中", "大学", "김민수는"),
]


def names(found: Extracted) -> list[str]:
    return [entity.name for entity in found.entities]


def test_a_handbook_page() -> None:
    assert names(extract(HANDBOOK)) == [
        *("Saltmarsh Robotics", "Ingrid Solheim", "Bergen", "Vacation policy", "Fatima Haddad", "People Team"),
        *("leave-register", "Oskar Lindgren", "Envoy"),
    ]


def test_field_notes() -> None:
    assert names(extract(NOTES)) == [
        *("Brack Fen", "Nadia Okafor", "Great Crested Grebes", "Ikeda", "Mill Creek"),
        "University of Calder",
    ]


def test_a_row_of_a_table_is_about_itself() -> None:
    table = (
        "| Company | Contact |\n|---|---|\n| Brandt & Söhne GmbH | Amélie Roussel |\n| Nordic Paper AB | Lars Holm |\n"
    )
    pairs = [("Brandt & Söhne GmbH", "Amélie Roussel"), ("Nordic Paper AB", "Lars Holm")]
    assert [(one.src, one.tgt) for one in extract(table).relations] == pairs
    later = table.split("|---|---|\n")[1]  # as in the second chunk of a table
    assert [(one.src, one.tgt) for one in extract(later).relations] == pairs
    assert {("Marta Lindqvist", tgt) for _, tgt in pairs} < {
        (one.src, one.tgt) for one in extract(f"# Marta Lindqvist\n\n{table}").relations
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zwei der vier Dichtungen waren gerissen. Katrin Vollmoor nahm eine Probe.", ["Katrin Vollmoor"]),
        ("Pellmar Batteries hat alle Akkus dieser Bauart zurückgerufen.", ["Pellmar Batteries"]),
    ],
)
def test_a_short_text_of_a_german_document_is_german(text: str, expected: list[str]) -> None:
    for find in (extract, find_names):
        assert names(find(text, language="de")) == expected
        assert len(names(find(text))) > len(expected)  # too few German words to tell
        assert find(text, language="en") == find(text)


def test_the_words_of_a_text_count_more_than_its_document() -> None:
    assert extract(GERMAN, language="en") == extract(GERMAN)


def test_german_nouns_are_no_names() -> None:
    assert names(extract(GERMAN)) == [
        *("Handbuch Datenplattform", "Karlsruhe", "Team Hydrologie", "Thomas Brandl"),
    ]


@pytest.mark.parametrize(
    "text", ["", "all of this is written in lower case. nothing here is a name.", "# Summary\n\nIt is."]
)
def test_a_text_without_names_yields_nothing(text: str) -> None:
    assert extract(text) == Extracted((), ())


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


@given(st.text() | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_what_holds_for_every_text(text: str) -> None:
    found = extract(text)
    assert found == extract(text)
    keys = [name.casefold() for name in names(found)]
    assert len(keys) == len(set(keys))
    for entity in found.entities:
        assert entity.name.strip()
        assert "\n" not in entity.name + entity.description
        assert entity.description
        assert entity.type in (*TYPES, OTHER)
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
     "# Aa Bb\n\nAa Bb is.\n\n", "Aa of ", "Aa, the ", "Aa is a ", "Aa (", "(Aa ", "Aa, Bb and ", "the Aa Anna Bb ",
     "The Aa Bbs and the Aa Bb. "],
)  # fmt: skip
def test_no_input_takes_more_than_linear_time(unit: str) -> None:
    extract("A warm start in Oslo.")
    start = time.process_time()
    extract(unit * (20_000 // len(unit)))
    # Usual prose takes about 0.05 s for as much; anything quadratic takes several seconds.
    assert time.process_time() - start < 1.5


def test_dates_and_amounts_are_entities_on_demand() -> None:
    text = "The mast cost $5 million on 3 May 2024."
    assert names(extract(text)) == []
    found = extract(text, dates=True)
    assert [(one.name, one.type) for one in found.entities] == [("$5 million", "data"), ("3 May 2024", "data")]


def test_names_without_relations_or_with_those_of_one_sentence() -> None:
    text = "# Kestrel\n\nAnna Berg met Olaf Lund in Oslo. Then Anna Berg left for Bergen in 2014."
    alone, related = find_names(text), find_names(text, co_mentions=True)
    assert names(alone) == names(related) == ["Kestrel", "Anna Berg", "Olaf Lund", "Oslo", "Bergen"]
    assert not alone.relations
    pairs = [(one.src, one.tgt) for one in related.relations]
    assert pairs == [
        *(("Anna Berg", "Olaf Lund"), ("Anna Berg", "Oslo"), ("Olaf Lund", "Oslo"), ("Anna Berg", "Bergen")),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SUPPLIERS AND PURCHASING\n\nWe buy at Tollgate Telemetry.", ["Tollgate Telemetry"]),
        ("High water: Screen 14:08, table 14:36. Items 1, 2 and 3 were done in Oslo.", ["Oslo"]),
        ("# The Kessing Siren\n\nWe heard the Kessing Siren.", ["Kessing Siren"]),
        ("The Heron Logger HL-0640 was wet. Every Heron Logger is.", ["Heron Logger", "HL-0640"]),
        ("It has the Heron Logger. All Heron Loggers were off.", ["Heron Logger"]),
        ("At the Tannery Lucian Farrow watched.", ["Tannery", "Lucian Farrow"]),
        ('The plaque says "15 January 2023" and "NOT FOR REHEARSALS".', []),
        ("Das Buch ist für ihn nicht da. Er sah es am selben Tag Halden Weir und wird es lesen.", ["Halden Weir"]),
        ("Das Gerät wird in den englischen Unterlagen Steinhag Dam genannt und ist neu.", ["Steinhag Dam"]),
        ("# What is recommended\n\nIt is done.", []),
    ],
)
def test_what_is_no_name_is_left_out(text: str, expected: list[str]) -> None:
    assert names(extract(text)) == expected
