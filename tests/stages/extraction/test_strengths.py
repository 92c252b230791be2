"""Strengths after the fields of a row: numbers, and words of degree."""

from lightrag_dagster.stages.extraction.tuple_rows import strength
from tests.stages.extraction.reading import differences, read

# Each gives the weight of its relation; a word gives 1, as a row without a strength does.
STRENGTHS = {
    "8": 8.0,
    "0.75": 0.75,
    "10": 10.0,
    '"9"': 9.0,
    "10)": 10.0,
    "(8)": 8.0,
    "[8]": 8.0,
    "<8>": 8.0,
    "8)##": 8.0,
    "**7**": 7.0,
    "９": 9.0,
    "9/10": 9.0,
    "8 / 10": 8.0,
    "0.9/1": 0.9,
    "80%": 0.8,
    "80 %": 0.8,
    "９／１０": 9.0,
    "9 out of 10": 9.0,
    "nine": 9.0,
    "Eight": 8.0,
    "eight out of ten": 8.0,
    "strength: 8": 8.0,
    "Strength = 8": 8.0,
    "relationship_strength: 9": 9.0,
    "weight=0.8": 0.8,
    "score 7": 7.0,
    "9 (high)": 9.0,
    "high (9)": 9.0,
    "high": 1.0,
    "High": 1.0,
    "HIGH": 1.0,
    '"high"': 1.0,
    "(high)": 1.0,
    "high)": 1.0,
    "**high**": 1.0,
    "`high`": 1.0,
    "high##": 1.0,
    "very high": 1.0,
    "Very High": 1.0,
    "very-high": 1.0,
    "medium": 1.0,
    "medium-high": 1.0,
    "medium/high": 1.0,
    "mid": 1.0,
    "moderate": 1.0,
    "moderately strong": 1.0,
    "low": 1.0,
    "very low": 1.0,
    "lowest": 1.0,
    "strong": 1.0,
    "stronger": 1.0,
    "strongest": 1.0,
    "very strong": 1.0,
    "extremely strong": 1.0,
    "fairly weak": 1.0,
    "weak": 1.0,
    "average": 1.0,
    "normal": 1.0,
    "significant": 1.0,
    "critical": 1.0,
    "direct": 1.0,
    "strength: high": 1.0,
    "confidence: high": 1.0,
    "Weight: very strong": 1.0,
    "strong relationship": 1.0,
    "high importance": 1.0,
    "unknown": 1.0,
    "none": 1.0,
    "N/A": 1.0,
    "强": 1.0,
    "高": 1.0,
    "中等": 1.0,
}
OTHER_TEXTS = [
    *("and more text", "extra", "Acme", "work", "chunk-1", "Two.", "strong.", "The link is strong.", "strong work"),
    *("-1", "+8", "1e9", "nan", "inf", "8,5", "10.5.2", "8 9", "9" * 400, "9 lives", "high school", "", "?"),
]


def test_strength() -> None:
    assert differences(STRENGTHS, strength) == {}
    assert differences(dict.fromkeys(OTHER_TEXTS), strength) == {}


def test_relations_with_a_strength() -> None:
    weights = {text: "" if weight == 1 else f" ¦ {weight:g}" for text, weight in STRENGTHS.items()}
    expected = {text: [f"A ¦ B ¦ work ¦ They met.{weight}"] for text, weight in weights.items()}
    assert differences(expected, lambda text: read(f"relation¦A¦B¦work¦They met.¦{text}")) == {}
    assert differences(expected, lambda text: read(f"relation¦A¦B¦They met.¦work¦{text}")) == {}
    assert (
        differences(expected, lambda text: read(f"Relation: relation<|#|A<|#|B<|#|work<|#|They met.<|#|{text}\r\n"))
        == {}
    )
    blank = {text: [f"A ¦ B ¦  ¦ They met.{weight}"] for text, weight in weights.items()}
    assert differences(blank, lambda text: read(f"relation¦A¦B¦They met.¦¦{text}¦")) == {}
    two = {f"{text}{joint}": [*expected[text], "C ¦ D ¦ k ¦ d"] for text in weights for joint in ("\n", " ", "¦", "##")}
    assert differences(two, lambda text: read(f"relation¦A¦B¦work¦They met.¦{text}relation¦C¦D¦k¦d")) == {}


def test_entities_with_a_strength() -> None:
    for kind in ("Person", "Weapon"):
        expected = {f"{kind}¦She leads¦{text}": [f"A ¦ {kind.lower()} ¦ She leads"] for text in STRENGTHS}
        assert differences(expected, lambda fields: read(f"entity¦A¦{fields}")) == {}


def test_a_relation_with_another_text_at_its_end_is_dropped() -> None:
    texts: dict[str, list[str]] = {text: [] for text in OTHER_TEXTS if text}
    assert differences(texts, lambda text: read(f"relation¦A¦B¦work¦They met.¦{text}")) == {}


# Where nothing tells which of two fields is the description, they are in the order of rows without a strength.
DESCRIPTIONS = {
    "relation¦A¦B¦k¦d¦8": "A ¦ B ¦ k ¦ d ¦ 8",
    "relation¦A¦B¦work¦jobs¦high": "A ¦ B ¦ work ¦ jobs",
    "relation¦A¦B¦friendship¦They met¦8": "A ¦ B ¦ friendship ¦ They met ¦ 8",
    "relation¦A¦B¦They met¦friendship¦8": "A ¦ B ¦ friendship ¦ They met ¦ 8",
    "relation¦A¦B¦employment¦works at¦strong": "A ¦ B ¦ employment ¦ works at",
    "relation¦A¦B¦A met B in Oslo¦friendship, meeting¦7": "A ¦ B ¦ friendship, meeting ¦ A met B in Oslo ¦ 7",
    "relation¦A¦B¦friendship, meeting¦A met B in Oslo¦7": "A ¦ B ¦ friendship, meeting ¦ A met B in Oslo ¦ 7",
    "relation¦A¦B¦They met.¦a long list, of many words¦low": "A ¦ B ¦ a long list, of many words ¦ They met.",
    "relation¦甲¦乙¦二人相识于奥斯陆¦友情¦高": "甲 ¦ 乙 ¦ 友情 ¦ 二人相识于奥斯陆",
    # four fields only: the last is the description, whatever it is
    "relation¦A¦B¦They met¦high": "A ¦ B ¦ They met ¦ high",
    "relation¦A¦B¦work¦strong": "A ¦ B ¦ work ¦ strong",
    "relation¦A¦B¦strength: high¦They met.": "A ¦ B ¦ strength: high ¦ They met.",
    "entity¦A¦Person¦strong": "A ¦ person ¦ strong",
    "entity¦A¦Person¦One.": "A ¦ person ¦ One.",
    "entity¦¦A¦Person¦One.¦": "A ¦ person ¦ One.",
}


def test_which_field_is_the_description() -> None:
    assert differences({row: [line] for row, line in DESCRIPTIONS.items()}, read) == {}
