import pytest

from lightrag_dagster.query.keywords import fall_back_to_question, parse_keywords, without_blanks
from lightrag_dagster.query.types import Keywords

TRADE = Keywords(("Trade", "Peace"), ("Delos",))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"high_level_keywords": ["Trade", "Peace"], "low_level_keywords": ["Delos"]}', TRADE),
        ('```json\n{"high_level_keywords": ["Trade", " Peace "], "low_level_keywords": ["Delos", ""]}\n```', TRADE),
        ('<think>a {"b": 1}</think>{"high_level_keywords": ["Trade","Peace"],"low_level_keywords":["Delos"]}', TRADE),
        ('Say {"low_level_keywords": ["x"]}?</think>{"high_level_keywords": ["Trade"]}', Keywords(("Trade",))),
        ("[" * 100_000, None),
        ('Here: {"high_level_keywords": "Trade, Peace", "low_level_keywords": "Delos"} Done.', TRADE),
        ('{"high_level_keywords": ["Trade", "Peace",], "low_level_keywords": ["Delos",],}', TRADE),
        ('{"high_level_keywords": ["Trade", "Peace"], "low_level_keywords": ["Delos"', TRADE),
        ('{"high_level_keywords": ["Trade", "Peace"], "low_level_keywords": ["Delos", 7, null]}', TRADE),
        ("{'high_level_keywords': ['Trade', 'Peace'], 'low_level_keywords': ['Delos']}", TRADE),
        ('{"keywords": {"high_level_keywords": ["Trade", "Peace"], "low_level_keywords": ["Delos"]}}', TRADE),
        ('{"high_level_keywords": ["a, b"]}', Keywords(("a, b",))),
        ('{"high_level_keywords": null, "low_level_keywords": 3}', None),
        ('{"high_level_keywords": [], "low_level_keywords": []}', Keywords()),
        ('{"low_level_keywords": ["Del', None),
        ("[1, 2]", None),
        ("I cannot say.", None),
        ("", None),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_answers_are_read(answer: str, expected: Keywords | None) -> None:
    assert parse_keywords(answer) == expected


def test_blank_keywords_are_none() -> None:
    assert without_blanks(Keywords((" ", "Trade "), ("",))) == Keywords(("Trade",))


@pytest.mark.parametrize(
    ("keywords", "length", "expected"),
    [
        (Keywords(), 49, Keywords(low_level=("q" * 49,))),
        (Keywords(), 50, Keywords()),
        (Keywords(high_level=("Trade",)), 10, Keywords(high_level=("Trade",))),
    ],
)
def test_a_short_question_is_its_own_keyword(keywords: Keywords, length: int, expected: Keywords) -> None:
    assert fall_back_to_question(keywords, "q" * length) == expected
