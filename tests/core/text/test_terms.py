import pytest

from lightrag_dagster.core.text.terms import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The boats were running", ["boat", "run"]),
        ("Wer und was ist die Abteilung", ["abteilung"]),
        ("a b c 7", ["7"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("STRASSE Straße", ["strass", "strass"]),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert [term.text for term in terms(text)] == expected


def test_capitals_are_told() -> None:
    assert [term.capital for term in terms("Survey boats, PostgreSQL, iron")] == [True, False, True, False]
