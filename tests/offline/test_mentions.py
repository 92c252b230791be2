import pytest

from lightrag_dagster.offline.mentions import find_in_question, join_phrases
from lightrag_dagster.offline.tokens import scan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we met George T. Solomon of the University of Copenhagen", ["George T. Solomon", "University of Copenhagen"]),
        ("it is Nookat District of Osh Province", ["Nookat District", "Osh Province"]),
        ("by the Ministry of Food and Agriculture and Anna Berg", ["Ministry of Food and Agriculture", "Anna Berg"]),
        ("at Publix Markets, Inc. in Washington, D.C. today", ["Publix Markets, Inc", "Washington, D.C."]),
        ("at the 1952 Summer Olympics", ["1952 Summer Olympics"]),
        ("a 1930 American film of 1931", ["1930", "American", "1931"]),
        ("up to 2000 connections", []),
        ("on Route 167 by Boeing 747", ["Route 167", "Boeing 747"]),
        ("asked Dr. Ikeda and Chief Engineer Marcus Lindqvist", ["Ikeda", "Marcus Lindqvist"]),
        ("on Monday in May at 10 UTC", []),
        ("The Hollywood Reporter, and The Beatles", ["Hollywood Reporter", "The Beatles"]),
        ("However, IT Operations waits", ["IT Operations"]),
        ("Ask Priya or see the Expense Guide", ["Priya", "Expense Guide"]),
        ("It was so", []),
        ("Hey John, how is Maria? Wow! Yeah, I've met Tom.", ["John", "Maria", "Tom"]),
        ("Hallo Anna, danke! Tja, Bern it is.", ["Anna", "Bern"]),
        ("I’ve been away, and I’m back. We’ll see; They’re late. Don’t!", []),
        ("We met Hello Kitty and said Wow", ["Hello Kitty"]),
        ("U.S.Army trucks came", ["U.S.", "Army"]),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    tokens, mentions = find_in_question(text)
    assert [mention.name for mention in mentions] == expected
    for mention in mentions:
        assert text[mention.start : mention.end] == mention.name
        assert tokens[mention.first].start == mention.start


def test_phrases_are_joined_in_any_case_but_not_inside_a_longer_name() -> None:
    text = "The vacation policy is in the Vacation Policy Guide"
    tokens = join_phrases(text, scan(text), ["Vacation policy"])
    assert [token.text for token in tokens] == [
        "The",
        "Vacation policy",
        "is",
        "in",
        "the",
        "Vacation",
        "Policy",
        "Guide",
    ]
