import re
from pathlib import Path

import pytest
import snowballstemmer
from snowballstemmer.english_stemmer import EnglishStemmer

from lightrag_dagster.core.text.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The boats were running", ["boat", "run"]),
        ("Wer und was ist die Abteilung", ["abteilung"]),
        ("a b c 7", ["7"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("हिन्दी में सेतु।", ["हिन्दी", "में", "सेतु"]),
        ("Петро\u0301в, שָׁלוֹם", ["петро\u0301в", "שָׁלוֹם"]),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert [term.text for term in terms(text)] == expected


def test_capitals_are_told() -> None:
    assert [term.capital for term in terms("Survey boats, PostgreSQL, iron")] == [True, False, True, False]


def test_stems_are_the_same_without_the_compiled_stemmer() -> None:
    texts = (path.read_text("utf-8") for path in (Path(__file__).parents[3] / "docs").glob("*.md"))
    words = sorted({word.casefold() for text in texts for word in re.findall(r"[^\W_]+", text)})
    assert len(words) > 1000
    stems = snowballstemmer.stemmer("english")
    assert stems.stemWords(words) == [EnglishStemmer().stemWord(word) for word in words]
